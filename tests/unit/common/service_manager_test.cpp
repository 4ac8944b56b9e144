#include "common/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstdlib>
#include <optional>

#include "common/unique_fd.h"
#include "tests/unit/catch.h"

using namespace penstock;

namespace {

// systemd's end: a datagram socket that NOTIFY_SOCKET names.
class Manager {
 public:
  Manager()
      : socket_(
            ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    // Abstract, with a name that the kernel chooses.
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socklen_t size = sizeof address.sun_family;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(socket_.get(), generic, size) == 0);
    size = sizeof address;
    REQUIRE(::getsockname(socket_.get(), generic, &size) == 0);
    const size_t length = size - offsetof(sockaddr_un, sun_path) - 1;
    const std::string name(address.sun_path + 1, length);
    REQUIRE(::setenv("NOTIFY_SOCKET", ("@" + name).c_str(), 1) == 0);
  }
  ~Manager() {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})
      ::unsetenv(name);
  }

  void allow(unsigned microseconds, pid_t pid = ::getpid()) {
    ::setenv("WATCHDOG_USEC", std::to_string(microseconds).c_str(), 1);
    ::setenv("WATCHDOG_PID", std::to_string(pid).c_str(), 1);
  }

  // The next message received.
  std::optional<std::string> heard() {
    std::array<char, 4096> text;
    const ssize_t size = ::recv(socket_.get(), text.data(), text.size(), 0);
    if (size < 0) return std::nullopt;
    return std::string(text.data(), size_t(size));
  }

 private:
  UniqueFd socket_;
};

// Number of heartbeats while the loop runs for run_ms.
int beats(Manager& manager, EventLoop& loop, uint64_t run_ms) {
  REQUIRE(loop.add_timer(run_ms, [&loop] { loop.stop(); }));
  REQUIRE(loop.run());
  int count = 0;
  while (const auto message = manager.heard()) {
    CHECK(*message == "WATCHDOG=1");
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("systemd receives the states of a daemon in order") {
  Manager manager;
  notify_ready("Serving");
  notify_reloading();
  notify_ready("Serving again");
  notify_stopping();
  CHECK(manager.heard() == "READY=1\nSTATUS=Serving");
  CHECK(manager.heard() == "RELOADING=1");
  CHECK(manager.heard() == "READY=1\nSTATUS=Serving again");
  CHECK(manager.heard() == "STOPPING=1");
  CHECK(manager.heard() == std::nullopt);
}

TEST_CASE("line ends in a status add no assignment") {
  Manager manager;
  notify_ready("bad file\nMAINPID=1\n");
  CHECK(manager.heard() == "READY=1\nSTATUS=bad file MAINPID=1 ");
}

TEST_CASE("without systemd nothing is sent, and nothing fails") {
  Result<EventLoop> loop = EventLoop::create();
  REQUIRE(loop);
  notify_ready("Serving");
  CHECK(feed_watchdog(*loop));
  ::setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1);
  notify_stopping();
  ::unsetenv("NOTIFY_SOCKET");
}

TEST_CASE("the loop feeds the watchdog twice in its period") {
  Manager manager;
  manager.allow(100'000);
  Result<EventLoop> loop = EventLoop::create();
  REQUIRE(loop);
  REQUIRE(feed_watchdog(*loop));
  // Every 50 ms; a busy machine delays some, and adds none.
  const int count = beats(manager, *loop, 520);
  CHECK(count >= 3);
  CHECK(count <= 10);
}

TEST_CASE("a loop that hangs does not feed the watchdog") {
  Manager manager;
  manager.allow(20'000);
  Result<EventLoop> loop = EventLoop::create();
  REQUIRE(loop);
  REQUIRE(feed_watchdog(*loop));
  REQUIRE(loop->add_timer(1, [&loop] {
    ::usleep(300'000);
    loop->stop();
  }));
  CHECK(beats(manager, *loop, 10'000) <= 1);
}

TEST_CASE("the watchdog of another process is not fed") {
  Manager manager;
  manager.allow(20'000, ::getpid() + 1);
  Result<EventLoop> loop = EventLoop::create();
  REQUIRE(loop);
  REQUIRE(feed_watchdog(*loop));
  CHECK(beats(manager, *loop, 100) == 0);
}

TEST_CASE("a watchdog without WatchdogSec= is not fed") {
  Manager manager;
  Result<EventLoop> loop = EventLoop::create();
  REQUIRE(loop);
  REQUIRE(feed_watchdog(*loop));
  CHECK(beats(manager, *loop, 50) == 0);
}
