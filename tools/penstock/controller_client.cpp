#include "tools/penstock/controller_client.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "common/clock.h"
#include "common/host_name.h"
#include "common/units.h"
#include "link/zmq_socket.h"
#include "wire/messages.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr int kCredentialLife_s = 60;

class Deadline {
 public:
  explicit Deadline(int timeout_ms)
      : at_ns_(monotonic_ns() + uint64_t(timeout_ms) * 1'000'000u) {}

  long left_ms() const {
    const uint64_t now_ns = monotonic_ns();
    return now_ns >= at_ns_ ? 0 : long((at_ns_ - now_ns) / 1'000'000u) + 1;
  }

 private:
  uint64_t at_ns_;
};

Error unavailable(const std::string& message) {
  return Error{Code::kUnavailable, 0, message};
}

// False: the deadline has passed.
bool wait_for(const ZmqSocket& socket, short events, const Deadline& deadline) {
  while (true) {
    zmq_pollitem_t item{socket.get(), 0, events, 0};
    const int ready = zmq_poll(&item, 1, deadline.left_ms());
    if (ready > 0) return true;
    const bool again = ready < 0 && zmq_errno() == EINTR;
    if (!again || deadline.left_ms() == 0) return false;
  }
}

// Sends `sealed` and returns the sealed reply.
Result<std::string> exchange(const ControllerAddress& controller,
                             const std::string& sealed, int timeout_ms) {
  const std::string where = "penstockctld at " + controller.to_string();
  Result<ZmqContext> context = ZmqContext::create();
  if (!context) return std::move(context).error();
  Result<ZmqSocket> socket =
      ZmqSocket::connect(*context, "tcp://" + controller.to_string());
  if (!socket) return std::move(socket).error().wrap(where);
  const Deadline deadline(timeout_ms);
  if (!wait_for(*socket, ZMQ_POLLOUT, deadline)) {
    return unavailable(where +
                       " cannot be reached; start it there: systemctl "
                       "start penstockctld");
  }
  Status sent = socket->send(sealed);
  if (!sent) return std::move(sent).error().wrap(where);
  if (!wait_for(*socket, ZMQ_POLLIN, deadline)) {
    return unavailable(
        where + " does not answer; see its log: journalctl -u penstockctld");
  }
  Result<std::string> message = socket->receive();
  if (!message) return std::move(message).error().wrap(where);
  return message;
}

// The answer's envelope, and who sealed it.
struct Answer {
  Envelope envelope;
  uid_t user = kAnyUid;
};

Result<Answer> open_answer(const std::string& text, const Trust& trust,
                           Credentials& credentials) {
  Result<Opened> opened = credentials.decode(text);
  if (!opened) return std::move(opened).error().wrap("the answer");
  if (!trust.admits(opened->uid) && opened->uid != ::geteuid()) {
    return trust.refusal("an answer", opened->uid);
  }
  Result<Envelope> envelope = unpack(opened->payload);
  if (!envelope) return std::move(envelope).error().wrap("the answer");
  return Answer{*std::move(envelope), opened->uid};
}

bool is_resync(const Envelope& envelope) {
  const Result<ControllerMessage> message =
      read_controller_message(envelope.type, envelope.body);
  return message && std::holds_alternative<Resync>(*message);
}

Result<json> ask_one(const ControllerAddress& controller, const Trust& trust,
                     const ControllerQuery& query, Credentials& credentials,
                     int timeout_ms) {
  uid_t reader = trust.expected();
  for (int tries = 0; tries < 2; ++tries) {
    Sender sender(host_name(), random_session());
    const Envelope asked = sender.next(kQueryType, query_body(query), unix_s());
    Result<std::string> text = pack(asked);
    if (!text) return std::move(text).error();
    Result<std::string> sealed =
        credentials.encode(*text, reader, kCredentialLife_s);
    if (!sealed) return std::move(sealed).error();
    Result<std::string> reply = exchange(controller, *sealed, timeout_ms);
    if (!reply) return std::move(reply).error();
    Result<Answer> answer = open_answer(*reply, trust, credentials);
    if (!answer) return std::move(answer).error();
    if (!is_resync(answer->envelope))
      return read_answer(answer->envelope, asked);
    // The controller cannot open the query: seal one for its own user.
    reader = answer->user;
  }
  return unavailable("penstockctld at " + controller.to_string() +
                     " cannot open queries; restart it: systemctl restart "
                     "penstockctld");
}

}  // namespace

Result<json> ask_controllers(const Controllers& controllers,
                             const ControllerQuery& query,
                             Credentials& credentials, int timeout_ms) {
  if (controllers.addresses.empty()) {
    return invalid(
        "no controller is configured: set Controller= in penstock.conf, or "
        "name one with --controller; penstock top shows one node without");
  }
  std::string why;
  for (const ControllerAddress& controller : controllers.addresses) {
    Result<json> document =
        ask_one(controller, controllers.trust, query, credentials, timeout_ms);
    if (document || document.error().code != Code::kUnavailable) {
      return document;
    }
    why += (why.empty() ? "" : "; ") + document.error().message;
  }
  return unavailable(why);
}

Result<Controllers> chosen_controllers(const std::string& named,
                                       const Config& config) {
  Result<std::vector<ControllerAddress>> addresses =
      named.empty() ? config.controllers : parse_controllers(named);
  if (addresses) {
    return Controllers{*std::move(addresses), trust_in_controllers(config)};
  }
  return std::move(addresses).error().wrap("--controller " + printable(named));
}

Status ask_pages(const Controllers& controllers, ControllerQuery query,
                 Credentials& credentials, const TakePage& take,
                 int timeout_ms) try {
  std::optional<json> answered_by;
  while (true) {
    const Result<json> page =
        ask_controllers(controllers, query, credentials, timeout_ms);
    if (!page) return page.error();
    // `next` is a place in one controller's own history.
    const json by = page->value("controller", json());
    if (answered_by && *answered_by != by) {
      return unavailable(
          "another controller has taken over while the first one's answer was "
          "read; ask again");
    }
    answered_by = by;
    query.limit = take(*page);
    const json next = page->value("next", json());
    if (query.limit <= 0 || !next.is_string() || next == query.after) {
      return Done{};
    }
    query.after = next.get<std::string>();
  }
} catch (const std::exception& error) {
  return invalid(std::string("the controller's answer: ") + error.what());
}

Result<json> ask_for_all(const Controllers& controllers, ControllerQuery query,
                         const char* rows, size_t max_rows,
                         Credentials& credentials, int timeout_ms) {
  const auto room = [&](size_t have) {
    return int(std::min(max_rows - have, static_cast<size_t>(kMaxQueryRows)));
  };
  json all;
  const auto take = [&](const json& page) {
    if (all.is_null()) {
      all = page;
    } else {
      for (const json& row : page.at(rows)) all.at(rows).push_back(row);
      all.at("next") = page.at("next");
    }
    return room(std::min(max_rows, all.at(rows).size()));
  };
  query.limit = room(0);
  Status asked =
      ask_pages(controllers, std::move(query), credentials, take, timeout_ms);
  if (!asked) return std::move(asked).error();
  return all;
}

}  // namespace penstock
