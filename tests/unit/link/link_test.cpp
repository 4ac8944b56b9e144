#include "link/link.h"

#include <poll.h>

#include <chrono>
#include <sstream>

#include "common/clock.h"
#include "tests/unit/catch.h"
#include "tests/unit/wire/agents.h"
#include "wire/query.h"

using namespace penstock;
using Catch::Matchers::ContainsSubstring;

namespace {

// Seals by writing the uid before the payload.
class FakeCredentials final : public Credentials {
 public:
  explicit FakeCredentials(uid_t uid) : uid_(uid) {}

  Result<std::string> encode(std::string_view payload, uid_t recipient,
                             int) override {
    return std::to_string(uid_) + " " + std::to_string(recipient) + " " +
           std::string(payload);
  }
  Result<Opened> decode(const std::string& credential) override {
    std::istringstream words(credential);
    Opened opened;
    uid_t recipient = 0;
    if (!(words >> opened.uid >> recipient)) return invalid("not a credential");
    if (recipient != uid_ && recipient != kAnyUid) {
      return Error{Code::kPermissionDenied, kMeantForAnother, "for another"};
    }
    words.get();
    opened.payload.assign(std::istreambuf_iterator<char>(words), {});
    return opened;
  }

 private:
  uid_t uid_;
};

std::unique_ptr<Link> start(Link::Settings settings, uid_t uid = 0) {
  settings.make_credentials = [uid] {
    return std::make_unique<FakeCredentials>(uid);
  };
  Result<std::unique_ptr<Link>> link = Link::start(std::move(settings));
  REQUIRE(link.ok());
  return *std::move(link);
}

// trust  in agents
std::unique_ptr<Link> controller(uid_t uid = 0, const Trust& trust = {}) {
  Link::Settings settings;
  settings.node = "controller";
  settings.listen = {.host = "127.0.0.1"};
  settings.trust = trust;
  return start(std::move(settings), uid);
}

std::string endpoint_of(const Link& link) {
  return "tcp://127.0.0.1:" + std::to_string(link.port());
}

std::unique_ptr<Link> agent(const std::string& node,
                            std::vector<std::string> controllers, uid_t uid = 0,
                            const Trust& trust = {}) {
  Link::Settings settings;
  settings.node = node;
  settings.connect = std::move(controllers);
  settings.trust = trust;
  return start(std::move(settings), uid);
}

// Receives until done() returns true; fails after 10 s.
std::vector<Arrived> collect(Link& link,
                             const std::function<bool(const Arrived&)>& done) {
  std::vector<Arrived> all;
  const uint64_t deadline_ns = monotonic_ns() + 10'000'000'000;
  while (monotonic_ns() < deadline_ns) {
    pollfd ready{link.ready_fd(), POLLIN, 0};
    ::poll(&ready, 1, 100);
    for (Arrived& one : link.take()) {
      const bool last = done(one);
      all.push_back(std::move(one));
      if (last) return all;
    }
  }
  FAIL("nothing arrived within 10 s");
  return all;
}

void wait_for_connection(Link& link) {
  collect(link, [](const Arrived& one) { return one.is_connection; });
}

std::string complaint_of(Link& link) {
  const uint64_t deadline_ns = monotonic_ns() + 10'000'000'000;
  while (monotonic_ns() < deadline_ns) {
    pollfd ready{link.ready_fd(), POLLIN, 0};
    ::poll(&ready, 1, 100);
    const auto complaints = link.take_complaints();
    if (!complaints.empty()) return complaints.front();
  }
  return "";
}

TypedBody heartbeat(double cores) {
  return body_of(AgentMessage(Heartbeat{cores}));
}

bool is_heartbeat_of(const Arrived& one, double cores) {
  return one.envelope.type == "heartbeat" &&
         one.envelope.body.at("loader_cores") == cores;
}

}  // namespace

TEST_CASE("messages of agents arrive in order, and answers reach their agent") {
  auto ctld = controller();
  auto one = agent("n1", {endpoint_of(*ctld)});
  auto two = agent("n2", {endpoint_of(*ctld)});
  wait_for_connection(*one);
  wait_for_connection(*two);
  for (int i = 1; i <= 500; ++i) REQUIRE(one->send_all(heartbeat(i)));
  const auto came = collect(
      *ctld, [](const Arrived& it) { return is_heartbeat_of(it, 500); });
  REQUIRE(came.size() == 500);
  for (size_t i = 0; i < came.size(); ++i) {
    CHECK(is_heartbeat_of(came[i], double(i + 1)));
    CHECK(came[i].envelope.node == "n1");
    CHECK(came[i].missed == 0);
  }
  REQUIRE(two->send_all(heartbeat(1)));
  collect(*ctld, [](const Arrived& it) { return it.envelope.node == "n2"; });
  REQUIRE(ctld->send("n2", body_of(ControllerMessage(Beat{33}))));
  REQUIRE(ctld->send("n1", body_of(ControllerMessage(Beat{17}))));
  for (auto& [link, term] : {std::pair{one.get(), 17}, {two.get(), 33}}) {
    const auto beats = collect(
        *link, [](const Arrived& it) { return it.envelope.type == "beat"; });
    CHECK(beats.back().envelope.body.at("term") == term);
  }
}

TEST_CASE("every controller receives an agent's messages") {
  auto first = controller();
  auto second = controller();
  auto node = agent("n1", {endpoint_of(*first), endpoint_of(*second)});
  // Both may arrive at once.
  int connections = 0;
  collect(*node, [&](const Arrived& one) {
    return one.is_connection && ++connections == 2;
  });
  REQUIRE(node->send_all(heartbeat(1)));
  for (Link* link : {first.get(), second.get()}) {
    collect(*link, [](const Arrived& it) { return is_heartbeat_of(it, 1); });
  }
}

TEST_CASE("an agent reconnects to a restarted controller") {
  auto ctld = controller();
  const int port = ctld->port();
  auto node = agent("n1", {endpoint_of(*ctld)});
  wait_for_connection(*node);
  ctld.reset();
  Link::Settings settings;
  settings.node = "controller";
  settings.listen = {.host = "127.0.0.1", .port = port};
  ctld = start(std::move(settings));
  wait_for_connection(*node);
  REQUIRE(node->send_all(heartbeat(1)));
  collect(*ctld, [](const Arrived& it) { return is_heartbeat_of(it, 1); });
}

TEST_CASE("a lost connection is reported, and messages can still be sent") {
  auto ctld = controller();
  const std::string endpoint = endpoint_of(*ctld);
  auto node = agent("n1", {endpoint});
  wait_for_connection(*node);
  REQUIRE(node->send_all(heartbeat(1)));
  collect(*ctld, [](const Arrived& it) { return is_heartbeat_of(it, 1); });
  ctld.reset();
  // Until the agent notices the lost connection.
  while (complaint_of(*node).empty()) node->send_all(heartbeat(2));
  CHECK(node->send_all(heartbeat(3)));
}

TEST_CASE("an agent's messages from a user are refused") {
  auto ctld = controller();
  auto user = agent("n1", {endpoint_of(*ctld)}, 1000);
  wait_for_connection(*user);
  user->send_all(heartbeat(1));
  CHECK_THAT(complaint_of(*ctld), ContainsSubstring("user 1000"));
  CHECK(ctld->take().empty());
}

namespace {

constexpr uid_t kController = 998;
constexpr uid_t kAgent = 997;
const Trust kControllers{"ControllerUser=998", kController};
const Trust kAgents{"AgentUser=997", kAgent};

// Like penstockd: a hello after a connection and after a resync.
void greet(Link& node) {
  collect(node, [&](const Arrived& it) {
    const bool is_resync = it.envelope.type == "resync";
    if (it.is_connection || is_resync) node.send_all(heartbeat(7));
    return is_resync;
  });
}

}  // namespace

TEST_CASE("a controller and an agent without root understand each other") {
  auto ctld = controller(kController, kAgents);
  auto node = agent("n1", {endpoint_of(*ctld)}, kAgent, kControllers);
  wait_for_connection(*node);
  REQUIRE(node->send_all(heartbeat(1)));
  const auto came =
      collect(*ctld, [](const Arrived& it) { return is_heartbeat_of(it, 1); });
  CHECK(came.back().uid == kAgent);
  REQUIRE(ctld->send("n1", body_of(ControllerMessage(Beat{17}))));
  collect(*node, [](const Arrived& it) { return it.envelope.type == "beat"; });
}

TEST_CASE("an agent learns that its controller runs as another trusted user") {
  auto ctld = controller(/*uid=*/0);
  auto node = agent("n1", {endpoint_of(*ctld)}, 0, kControllers);
  greet(*node);
  collect(*ctld, [](const Arrived& it) { return is_heartbeat_of(it, 7); });
  REQUIRE(ctld->send("n1", body_of(ControllerMessage(Beat{17}))));
  collect(*node, [](const Arrived& it) { return it.envelope.type == "beat"; });
}

TEST_CASE("an agent names the user of a controller that it does not trust") {
  auto ctld = controller(4242);
  auto node = agent("n1", {endpoint_of(*ctld)}, 0, kControllers);
  wait_for_connection(*node);
  REQUIRE(node->send_all(heartbeat(1)));
  CHECK_THAT(complaint_of(*node),
             ContainsSubstring("a message of user 4242") &&
                 ContainsSubstring("ControllerUser=998 (user 998 here)"));
  CHECK_THAT(complaint_of(*ctld), ContainsSubstring("for another"));
  CHECK(ctld->take().empty());
}

// A peer that sends any text.
struct Stranger {
  explicit Stranger(const Link& link)
      : context(*ZmqContext::create()),
        socket(*ZmqSocket::connect(context, endpoint_of(link))) {
    const uint64_t deadline_ns = monotonic_ns() + 10'000'000'000;
    while (!socket.take_connected() && monotonic_ns() < deadline_ns) {
      ::poll(nullptr, 0, 10);
    }
  }

  ZmqContext context;
  ZmqSocket socket;
};

std::string sealed(const Envelope& envelope) {
  return *FakeCredentials(0).encode(*pack(envelope), 0, 60);
}

TEST_CASE("forged, truncated, replayed and stale messages are dropped") {
  auto ctld = controller();
  Stranger stranger(*ctld);
  Sender sender("n1", 7);
  const auto body = nlohmann::json{{"loader_cores", 1}};
  const std::string good = sealed(sender.next("heartbeat", body, unix_s()));
  REQUIRE(stranger.socket.send(good).ok());
  collect(*ctld, [](const Arrived& it) { return it.envelope.sequence == 1; });

  SECTION("no credential") {
    REQUIRE(stranger.socket.send("rubbish").ok());
    CHECK_THAT(complaint_of(*ctld), ContainsSubstring("not a credential"));
  }
  SECTION("truncated") {
    const std::string next = sealed(sender.next("heartbeat", body, unix_s()));
    REQUIRE(stranger.socket.send(next.substr(0, next.size() / 2)).ok());
    CHECK_THAT(complaint_of(*ctld), ContainsSubstring("not a JSON object"));
  }
  SECTION("replayed") {
    REQUIRE(stranger.socket.send(good).ok());
    CHECK_THAT(complaint_of(*ctld), ContainsSubstring("replay"));
  }
  SECTION("ten minutes old") {
    REQUIRE(stranger.socket
                .send(sealed(sender.next("heartbeat", body, unix_s() - 600)))
                .ok());
    const std::string said = complaint_of(*ctld);
    CHECK_THAT(said, ContainsSubstring("600 s old"));
    CHECK_THAT(said, ContainsSubstring("synchronise the clocks"));
  }
  SECTION("ten minutes ahead") {
    REQUIRE(stranger.socket
                .send(sealed(sender.next("heartbeat", body, unix_s() + 600)))
                .ok());
    CHECK_THAT(complaint_of(*ctld), ContainsSubstring("future"));
  }
  SECTION("an unknown version") {
    Envelope next = sender.next("heartbeat", body, unix_s());
    std::string text = *pack(next);
    text.replace(text.find("\"version\":1"), 11, "\"version\":9");
    REQUIRE(stranger.socket.send("0 0 " + text).ok());
    CHECK_THAT(complaint_of(*ctld), ContainsSubstring("protocol version 9"));
  }
  CHECK(ctld->take().empty());
  // The link still works.
  REQUIRE(stranger.socket.send(sealed(sender.next("heartbeat", body, unix_s())))
              .ok());
  const auto next = collect(
      *ctld, [](const Arrived& it) { return it.envelope.type == "heartbeat"; });
  CHECK(next.back().envelope.sequence >= 2);
  CHECK(next.back().missed == next.back().envelope.sequence - 2);
}

TEST_CASE("nothing is sent to a node that has sent no message") {
  auto ctld = controller();
  REQUIRE(ctld->send("n9", body_of(ControllerMessage(Resync{}))));
  CHECK_THAT(complaint_of(*ctld), ContainsSubstring("to n9"));
}

TEST_CASE("a port in use is an error with its address") {
  auto ctld = controller();
  Link::Settings settings;
  settings.node = "second";
  settings.listen = {.host = "127.0.0.1", .port = ctld->port()};
  settings.make_credentials = [] {
    return std::make_unique<FakeCredentials>(0);
  };
  const auto link = Link::start(std::move(settings));
  REQUIRE_FALSE(link.ok());
  CHECK_THAT(link.error().message,
             ContainsSubstring("127.0.0.1:" + std::to_string(ctld->port())));
}

namespace {

// A command's question, sealed by the user.
std::string question_of(uid_t uid, const std::string& node) {
  Sender sender(node, random_session());
  return *FakeCredentials(uid).encode(
      *pack(sender.next(kQueryType, {{"what", "jobs"}}, unix_s())), 0, 60);
}

// The reply; "" after 10 s.
std::string reply_on(ZmqSocket& socket) {
  zmq_pollitem_t item{socket.get(), 0, ZMQ_POLLIN, 0};
  if (zmq_poll(&item, 1, 10000) <= 0) return "";
  Result<std::string> message = socket.receive();
  return message ? *message : "";
}

void send_when_connected(ZmqSocket& socket, const std::string& text) {
  zmq_pollitem_t item{socket.get(), 0, ZMQ_POLLOUT, 0};
  REQUIRE(zmq_poll(&item, 1, 10000) == 1);
  REQUIRE(socket.send(text).ok());
}

}  // namespace

TEST_CASE("any user may send a query and gets an answer") {
  const auto ctl = controller();
  Result<ZmqContext> context = ZmqContext::create();
  Result<ZmqSocket> user = ZmqSocket::connect(*context, endpoint_of(*ctl));
  REQUIRE(user.ok());
  send_when_connected(*user, question_of(1000, "login"));
  const auto arrived =
      collect(*ctl, [](const Arrived& one) { return one.is_question; });
  const Arrived& question = arrived.back();
  CHECK(question.uid == 1000);
  CHECK(question.envelope.type == kQueryType);
  REQUIRE(ctl->answer(question, {kAnswerType, {{"document", 1}}}));
  const std::string reply = reply_on(*user);
  CHECK_FALSE(FakeCredentials(1001).decode(reply));
  Result<Opened> opened = FakeCredentials(1000).decode(reply);
  REQUIRE(opened.ok());
  Result<Envelope> answer = unpack(opened->payload);
  REQUIRE(answer.ok());
  CHECK(answer->type == kAnswerType);
  CHECK(answer->body.at("document") == 1);
}

TEST_CASE("a user with too many queries is told so") {
  Link::Settings settings;
  settings.node = "controller";
  settings.listen = {.host = "127.0.0.1"};
  settings.limits.max_sessions_of_user = 1;
  const auto ctl = start(std::move(settings));
  Result<ZmqContext> context = ZmqContext::create();
  Result<ZmqSocket> user = ZmqSocket::connect(*context, endpoint_of(*ctl));
  REQUIRE(user.ok());
  send_when_connected(*user, question_of(1000, "login"));
  collect(*ctl, [](const Arrived& one) { return one.is_question; });
  send_when_connected(*user, question_of(1000, "login"));
  Result<Opened> opened = FakeCredentials(1000).decode(reply_on(*user));
  REQUIRE(opened.ok());
  Result<Envelope> answer = unpack(opened->payload);
  REQUIRE(answer.ok());
  CHECK(answer->body.at("error") == "limit");
  CHECK(answer->body.at("reason") ==
        "too many queries from user 1000; try again in 60 s");
}

TEST_CASE("a query from a node does not replace the node's agent") {
  const auto ctl = controller();
  const auto n1 = agent("n1", {endpoint_of(*ctl)});
  wait_for_connection(*n1);
  REQUIRE(n1->send_all(heartbeat(1)));
  collect(*ctl, [](const Arrived& one) { return is_heartbeat_of(one, 1); });
  Result<ZmqContext> context = ZmqContext::create();
  Result<ZmqSocket> root = ZmqSocket::connect(*context, endpoint_of(*ctl));
  REQUIRE(root.ok());
  send_when_connected(*root, question_of(0, "n1"));
  collect(*ctl, [](const Arrived& one) { return one.is_question; });
  REQUIRE(ctl->send("n1", body_of(ControllerMessage(Beat{16}))));
  const auto heard = collect(
      *n1, [](const Arrived& one) { return one.envelope.type == "beat"; });
  CHECK(heard.back().envelope.body.at("term") == 16);
}

TEST_CASE("other messages of users are refused as not root's") {
  const auto ctl = controller();
  const auto fake = agent("n1", {endpoint_of(*ctl)}, 1000);
  wait_for_connection(*fake);
  REQUIRE(fake->send_all(heartbeat(1)));
  CHECK_THAT(complaint_of(*ctl),
             ContainsSubstring("a message of user 1000: only those of root"));
  CHECK(ctl->take().empty());
}
