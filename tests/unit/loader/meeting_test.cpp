// Ranks that wait for each other.
#include "loader/train/meeting.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "common/clock.h"
#include "tests/unit/catch.h"

using namespace penstock;

namespace {

constexpr uint64_t kSecond = 1000000000;

// A listening socket with a full queue: connecting to it takes as long as to a
// host without an answer.
class Silent {
 public:
  Silent() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const pointer = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    REQUIRE(::bind(listener_.get(), pointer, size) == 0);
    REQUIRE(::listen(listener_.get(), 0) == 0);
    REQUIRE(::getsockname(listener_.get(), pointer, &size) == 0);
    REQUIRE(::connect(first_.get(), pointer, size) == 0);
    port_ = ntohs(address.sin_port);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  const UniqueFd listener_{::socket(AF_INET, SOCK_STREAM, 0)};
  const UniqueFd first_{::socket(AF_INET, SOCK_STREAM, 0)};
  int port_ = 0;
};

}  // namespace

TEST_CASE("a rank without an answer from its leader stops on request") {
  const Silent leader;
  std::atomic<bool> stop{false};
  const uint64_t begin_ns = monotonic_ns();
  std::thread other([&] {
    usleep(200000);
    stop = true;
  });
  const auto meeting = Meeting::join(leader.address(), 1, 2, stop);
  CHECK(monotonic_ns() - begin_ns < 10 * kSecond);
  other.join();
  REQUIRE_FALSE(meeting);
  CHECK(meeting.error().code == Code::kUnavailable);
}
