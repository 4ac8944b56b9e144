// Tests broker/start.h.
#include "broker/start.h"

#include <thread>

#include "broker/channel.h"
#include "tests/unit/broker/socket_pair.h"
#include "tests/unit/catch.h"

using namespace penstock;
using test::SocketPair;

namespace {

constexpr int kLong_ms = 10'000;

}  // namespace

TEST_CASE("a broker does what it was asked before it ends") {
  SocketPair ends;
  const std::byte request{};
  REQUIRE(send_datagram(ends.here.get(), std::span(&request, 1)));
  // Held by another process.
  const UniqueFd copy(::dup(ends.here.get()));
  size_t done = 0;
  std::thread broker([&] {
    for (;;) {
      const Result<Datagram> got = receive_datagram(ends.there.get(), 100);
      if (!got || got->bytes.empty()) break;
      ::usleep(50'000);
      ++done;
    }
    ends.there.reset();
  });
  CHECK(end_broker(std::move(ends.here), kLong_ms).ok());
  broker.join();
  CHECK(done == 1);
}

TEST_CASE("a dead broker is not waited for") {
  SocketPair ends;
  ends.there.reset();
  CHECK(end_broker(std::move(ends.here), kLong_ms).ok());
}

TEST_CASE("a broker that hangs is waited for until the time is up") {
  SocketPair ends;
  const Status ended = end_broker(std::move(ends.here), 10);
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Code::kUnavailable);
}
