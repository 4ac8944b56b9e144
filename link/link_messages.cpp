// A Link's messages: opened and checked, and sealed. link.cpp has the thread.
#include <fmt/format.h>

#include "common/clock.h"
#include "link/link.h"
#include "wire/query.h"

namespace penstock {
namespace {

// Several times the largest that a command sends.
constexpr size_t kMaxQuestionBytes = 8192;

}  // namespace

uid_t Link::user_of(const std::string& peer) const {
  const auto known = users_.find(peer);
  return known == users_.end() ? settings_.trust.expected() : known->second;
}

Result<Arrived> Link::open_message(const std::string& text) {
  Result<Opened> opened = credentials_->decode(text);
  if (!opened) return std::move(opened).error().wrap("a message");
  Result<Envelope> envelope = unpack(opened->payload);
  if (!envelope) return std::move(envelope).error().wrap("a message");
  Arrived arrived;
  arrived.is_question = listener_ && envelope->type == kQueryType;
  arrived.uid = opened->uid;
  if (!arrived.is_question && !settings_.trust.admits(opened->uid)) {
    return settings_.trust.refusal("a message", opened->uid);
  }
  if (arrived.is_question && opened->payload.size() > kMaxQuestionBytes) {
    return Error{
        Code::kLimit, 0,
        fmt::format("a query of {} bytes of user {}; allowed: {}",
                    opened->payload.size(), opened->uid, kMaxQuestionBytes)};
  }
  arrived.envelope = *std::move(envelope);
  return arrived;
}

Status Link::admit(Arrived& arrived) {
  Result<uint64_t> missed =
      guard_.admit(arrived.envelope, arrived.uid, unix_s());
  if (!missed) return std::move(missed).error();
  arrived.missed = *missed;
  return Done{};
}

void Link::take_from_controller(size_t index, const std::string& text) {
  Result<Arrived> arrived = open_message(text);
  if (!arrived) return complain(arrived.error().message);
  Status admitted = admit(*arrived);
  if (!admitted) return complain(admitted.error().message);
  arrived->controller = index;
  heard(std::to_string(index), *arrived);
  arrive(*std::move(arrived));
}

void Link::take_from_peer(const Listener::Message& message) {
  Result<Arrived> arrived = open_message(message.text);
  if (!arrived) {
    // Other faults may be munged's, or an agent's clock's.
    const Code code = arrived.error().code;
    if (code == Code::kInvalidArgument || code == Code::kLimit) {
      listener_->drop_stranger(message.route);
    }
    if (arrived.error().saved_errno == kMeantForAnother) {
      introduce(message.route);
    }
    return complain(arrived.error().message);
  }
  // A question's node is only the client's host: keep the agent's route.
  if (arrived->is_question) arrived->route = message.route;
  if (Status admitted = admit(*arrived); !admitted) {
    if (arrived->is_question && admitted.error().code == Code::kLimit) {
      return refuse(*arrived);
    }
    return complain(admitted.error().message);
  }
  if (settings_.trust.admits(arrived->uid)) listener_->prove(message.route);
  if (!arrived->is_question) {
    const std::string& node = arrived->envelope.node;
    routes_[node] = message.route;
    heard(node, *arrived);
  }
  arrive(*std::move(arrived));
}

// The user has too many sessions: each query is one.
void Link::refuse(const Arrived& question) {
  const Error error{
      Code::kLimit, 0,
      fmt::format("too many queries from user {}; try again in {:.0f} s",
                  question.uid, settings_.limits.max_age_s)};
  (void)answer(question, {kAnswerType, answer_body(question.envelope, error)});
}

void Link::heard(const std::string& peer, const Arrived& arrived) {
  users_[peer] = arrived.uid;
  const auto sender = senders_.find(peer);
  if (sender != senders_.end()) sender->second.heard(arrived.envelope);
}

// Tells a sender who sealed for another user which user we are.
void Link::introduce(uint64_t route) {
  TypedBody resync = body_of(ControllerMessage(Resync{}));
  Sender sender(settings_.node, random_session());
  const Result<std::string> text = pack(
      sender.next(std::move(resync.type), std::move(resync.body), unix_s()));
  if (!text) return;
  const Result<std::string> sealed =
      credentials_->encode(*text, kAnyUid, kMessageLife_s);
  if (sealed) (void)listener_->send(route, *sealed);
}

Status Link::seal_and_send(Outgoing& out) {
  const std::string peer =
      listener_ ? out.node : std::to_string(out.controller);
  // Number the message before any step can fail, so that the receiver notices
  // the gap.
  Sender& sender = senders_.try_emplace(peer, settings_.node, random_session())
                       .first->second;
  Result<std::string> text = pack(sender.next(
      std::move(out.body.type), std::move(out.body.body), unix_s()));
  if (!text) return std::move(text).error();
  const auto route = routes_.find(out.node);
  if (listener_ && route == routes_.end()) {
    return Error{Code::kUnavailable, 0, "it has sent no message yet"};
  }
  Result<std::string> sealed =
      credentials_->encode(*text, user_of(peer), kMessageLife_s);
  if (!sealed) return std::move(sealed).error();
  return listener_ ? listener_->send(route->second, *sealed)
                   : sockets_[out.controller].send(*sealed);
}

Status Link::seal_answer(Outgoing& out) {
  // A session of its own per answer: the client needs no order of numbers.
  Sender sender(settings_.node, random_session());
  Envelope envelope =
      sender.next(std::move(out.body.type), std::move(out.body.body), unix_s());
  envelope.version = common_version(out.newest_version);
  Result<std::string> text = pack(envelope);
  if (!text) return std::move(text).error();
  Result<std::string> sealed =
      credentials_->encode(*text, out.reader, kMessageLife_s);
  if (!sealed) return std::move(sealed).error();
  return listener_->send(out.route, *sealed);
}

}  // namespace penstock
