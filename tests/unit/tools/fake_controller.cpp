#include "fake_controller.h"

#include <poll.h>

#include <sstream>

#include "common/clock.h"
#include "tests/unit/catch.h"
#include "wire/messages.h"

namespace penstock {

Result<std::string> PlainCredentials::encode(std::string_view payload,
                                             uid_t restrict_uid, int) {
  return std::to_string(uid_) + " " + std::to_string(restrict_uid) + " " +
         std::string(payload);
}

Result<Opened> PlainCredentials::decode(const std::string& credential) {
  std::istringstream in(credential);
  Opened opened;
  uid_t reader = kAnyUid;
  if (!(in >> opened.uid >> reader) || in.get() != ' ') {
    return invalid("not a credential");
  }
  if (reader != kAnyUid && reader != uid_) {
    return Error{Code::kPermissionDenied, kMeantForAnother,
                 "meant for another user"};
  }
  std::getline(in, opened.payload, '\0');
  return opened;
}

std::string sealed_answer(const Asked& asked,
                          const Result<nlohmann::json>& document,
                          uid_t sealer) {
  Sender sender("ctl", random_session());
  const Result<std::string> text = pack(sender.next(
      kAnswerType, answer_body(asked.envelope, document), unix_s()));
  return *PlainCredentials(sealer).encode(*text, asked.opened.uid, 60);
}

std::string sealed_resync(uid_t sealer) {
  Sender sender("ctl", random_session());
  const TypedBody resync = body_of(ControllerMessage(Resync{}));
  const Result<std::string> text =
      pack(sender.next(resync.type, resync.body, unix_s()));
  return *PlainCredentials(sealer).encode(*text, kAnyUid, 60);
}

FakeController::FakeController(Answer answer, uid_t user)
    : answer_(std::move(answer)),
      user_(user),
      listener_(*Listener::listen({.host = "127.0.0.1"})) {
  address_ = {"127.0.0.1", listener_.port()};
  REQUIRE(address_.port > 0);
  thread_ = std::thread([this] { serve(); });
}

FakeController::~FakeController() {
  stopping_ = true;
  thread_.join();
}

void FakeController::serve() {
  while (!stopping_) {
    pollfd item{listener_.ready_fd(), POLLIN, 0};
    if (::poll(&item, 1, 20) <= 0) continue;
    Result<Listener::Message> message = listener_.receive();
    if (message) answer_one(*message);
  }
}

void FakeController::answer_one(const Listener::Message& message) {
  Asked asked;
  Result<Opened> opened = PlainCredentials(user_).decode(message.text);
  if (!opened && opened.error().saved_errno == kMeantForAnother) {
    (void)listener_.send(message.route, sealed_resync(user_));
  }
  if (!opened) return;
  asked.opened = *std::move(opened);
  Result<Envelope> envelope = unpack(asked.opened.payload);
  if (!envelope || envelope->type != kQueryType) return;
  asked.envelope = *std::move(envelope);
  Result<ControllerQuery> query = read_query(asked.envelope.body);
  if (!query) return;
  asked.query = *std::move(query);
  const std::optional<std::string> text = answer_(asked);
  if (text) (void)listener_.send(message.route, *text);
}

}  // namespace penstock
