#include "link/listener.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

#include "common/clock.h"
#include "link/zmq_socket.h"
#include "tests/unit/catch.h"

using namespace penstock;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr uint64_t kPatience_ns = 10'000'000'000;

Listener listener(const Listener::Limits& limits = {}) {
  Result<Listener> it = Listener::listen({.host = "127.0.0.1"}, limits);
  REQUIRE(it.ok());
  return *std::move(it);
}

// Serves until there is a message or a fault.
Result<Listener::Message> next(Listener& listener) {
  const uint64_t deadline_ns = monotonic_ns() + kPatience_ns;
  while (monotonic_ns() < deadline_ns) {
    Result<Listener::Message> message = listener.receive();
    if (message || message.error().code != Code::kUnavailable) return message;
    pollfd item{listener.ready_fd(), POLLIN, 0};
    ::poll(&item, 1, 10);
  }
  return Error{Code::kIo, 0, "nothing came"};
}

template <class Done>
void serve_until(Listener& listener, Done done) {
  const uint64_t deadline_ns = monotonic_ns() + kPatience_ns;
  while (!done()) {
    REQUIRE(monotonic_ns() < deadline_ns);
    (void)listener.receive();
    ::poll(nullptr, 0, 1);
  }
}

// A peer that sends any bytes.
class Raw {
 public:
  explicit Raw(const Listener& listener)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(uint16_t(listener.port()));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(fd_.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) ==
            0);
  }
  // As much as the connection takes now.
  void say(const std::string& bytes) {
    (void)::send(fd_.get(), bytes.data(), bytes.size(),
                 MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void shake_hands() { say(zmtp_opening()); }
  bool is_closed() {
    char text[4096];
    ssize_t size = 0;
    while ((size = ::recv(fd_.get(), text, sizeof text, MSG_DONTWAIT)) > 0) {
    }
    return size == 0 || (errno != EAGAIN && errno != EINTR);
  }

 private:
  UniqueFd fd_;
};

std::string message(const std::string& text) {
  return zmtp_header(text.size()) + text;
}

// libzmq's end, as of agents and commands.
struct Peer {
  explicit Peer(const Listener& listener)
      : context(*ZmqContext::create()),
        socket(*ZmqSocket::connect(
            context, "tcp://127.0.0.1:" + std::to_string(listener.port()))) {}

  // Serves the listener until the message is under way.
  void say(Listener& listener, const std::string& text) {
    serve_until(listener, [&] { return socket.send(text).ok(); });
  }

  ZmqContext context;
  ZmqSocket socket;
};

}  // namespace

TEST_CASE("libzmq's sockets exchange messages of all sizes with a listener") {
  Listener it = listener();
  Peer peer(it);
  for (const size_t size :
       {size_t{0}, size_t{255}, size_t{256}, kMaxCredentialBytes}) {
    const std::string text(size, 'x');
    peer.say(it, text);
    Result<Listener::Message> message = next(it);
    REQUIRE(message.ok());
    CHECK(message->text == text);
    REQUIRE(it.send(message->route, text).ok());
    Result<std::string> reply = std::string();
    serve_until(it, [&] { return (reply = peer.socket.receive()).ok(); });
    CHECK(*reply == text);
  }
}

TEST_CASE("a message to a closed connection is an error") {
  Listener it = listener();
  uint64_t route = 0;
  {
    Peer peer(it);
    peer.say(it, "hello");
    route = (*next(it)).route;
  }
  serve_until(it, [&] { return it.connections() == 0; });
  const Status sent = it.send(route, "text");
  REQUIRE_FALSE(sent.ok());
  CHECK_THAT(sent.error().message, ContainsSubstring("closed"));
}

TEST_CASE("a peer that does not read has a bounded queue") {
  Listener it = listener({.unsent_bytes = 1 << 20});
  Raw peer(it);
  peer.shake_hands();
  peer.say(message("hello"));
  const Result<Listener::Message> hello = next(it);
  REQUIRE(hello.ok());
  it.prove(hello->route);
  Status sent = Done{};
  int count = 0;
  while (sent && count < 10'000) {
    sent = it.send(hello->route, std::string(10'000, 'x'));
    ++count;
  }
  REQUIRE_FALSE(sent.ok());
  CHECK_THAT(sent.error().message, ContainsSubstring("its queue is full"));
}

TEST_CASE("a connection that breaks the protocol is closed, with its address") {
  Listener it = listener();
  Raw peer(it);
  peer.shake_hands();
  peer.say("\1\4part");
  const Result<Listener::Message> fault = next(it);
  REQUIRE_FALSE(fault.ok());
  CHECK_THAT(fault.error().message, ContainsSubstring("127.0.0.1"));
  CHECK_THAT(fault.error().message, ContainsSubstring("several frames"));
  CHECK(it.connections() == 0);
}

TEST_CASE("strangers beyond the limit give way, proved peers stay") {
  Listener it = listener({.strangers = 10});
  Peer agent(it);
  agent.say(it, "hello");
  const uint64_t route = (*next(it)).route;
  it.prove(route);
  std::vector<Raw> strangers;
  for (int i = 0; i < 100; ++i) {
    strangers.emplace_back(it);
    serve_until(it, [&, most = size_t(std::min(i + 2, 11))] {
      return it.connections() == most;
    });
  }
  it.drop_stranger(route);  // it is none
  CHECK(it.connections() == 11);
  CHECK(it.send(route, "text").ok());
  agent.say(it, "still here");
  CHECK((*next(it)).text == "still here");
}

TEST_CASE("unfinished messages of strangers have bounded memory") {
  constexpr size_t kMost = 1 << 20;
  Listener it = listener({.stranger_bytes = kMost});
  const std::string part = zmtp_header(kMost) + std::string(60'000, 'x');
  std::vector<Raw> strangers;
  for (int i = 0; i < 50; ++i) {
    strangers.emplace_back(it);
    strangers.back().shake_hands();
    strangers.back().say(part);
  }
  // 60 kB of each would be 3 MB.
  constexpr long kFit = kMost / 60'000;
  serve_until(it, [&] {
    return std::count_if(strangers.begin(), strangers.end(),
                         [](Raw& one) { return one.is_closed(); }) >= 50 - kFit;
  });
  CHECK_FALSE(strangers.back().is_closed());
  Peer agent(it);
  agent.say(it, "hello");
  CHECK((*next(it)).text == "hello");
}

TEST_CASE("messages before and after a proof keep their order") {
  Listener it = listener();
  Raw other(it), agent(it);
  other.shake_hands();
  other.say(message("other's"));
  agent.shake_hands();
  agent.say(message("1") + message("2") + message("3"));
  std::string order;
  uint64_t route = 0;
  while (order.size() < 4) {
    const Result<Listener::Message> one = next(it);
    REQUIRE(one.ok());
    if (one->text == "other's") continue;
    order += one->text;
    if (route != 0) continue;
    route = one->route;
    it.prove(route);
    agent.say(message("4"));
    ::poll(nullptr, 0, 50);  // until it has come
  }
  CHECK(order == "1234");
}

TEST_CASE("a flood of strangers does not delay a proved peer") {
  Listener it = listener();
  Peer agent(it);
  agent.say(it, "hello");
  it.prove((*next(it)).route);
  std::vector<Raw> strangers;
  for (int i = 0; i < 200; ++i) {
    strangers.emplace_back(it);
    strangers.back().shake_hands();
    for (int k = 0; k < 10; ++k) strangers.back().say(message("rubbish"));
  }
  REQUIRE(agent.socket.send("urgent").ok());
  ::poll(nullptr, 0, 200);  // until libzmq's thread has sent it
  int before = 0;
  while ((*next(it)).text != "urgent") ++before;
  CHECK(before <= 16);  // read before it came
}
