// Tests broker/start.h.
#include "broker/start.h"

#include <sys/socket.h>

#include <thread>

#include "broker/channel.h"
#include "tests/unit/catch.h"

using namespace penstock;

namespace {

constexpr int kLong_ms = 10'000;

struct Ends {
  Ends() {
    int fds[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
    penstockd.reset(fds[0]);
    broker.reset(fds[1]);
  }
  UniqueFd penstockd, broker;
};

}  // namespace

TEST_CASE("a broker does what it was asked before it ends") {
  Ends ends;
  const std::byte request{};
  REQUIRE(send_datagram(ends.penstockd.get(), std::span(&request, 1)));
  // Held by another process.
  const UniqueFd copy(::dup(ends.penstockd.get()));
  size_t done = 0;
  std::thread broker([&] {
    for (;;) {
      const Result<Datagram> got = receive_datagram(ends.broker.get(), 100);
      if (!got || got->bytes.empty()) break;
      ::usleep(50'000);
      ++done;
    }
    ends.broker.reset();
  });
  CHECK(end_broker(std::move(ends.penstockd), kLong_ms).ok());
  broker.join();
  CHECK(done == 1);
}

TEST_CASE("a dead broker is not waited for") {
  Ends ends;
  ends.broker.reset();
  CHECK(end_broker(std::move(ends.penstockd), kLong_ms).ok());
}

TEST_CASE("a broker that hangs is waited for until the time is up") {
  Ends ends;
  const Status ended = end_broker(std::move(ends.penstockd), 10);
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Code::kUnavailable);
}
