#include "node_agent/guardian.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

constexpr int kPatience_ms = 100;
constexpr int kLong_ms = 10'000;

// What the guardian does, as bytes in a pipe: 'h' or 'd' when it begins to
// clean up after a penstockd that hangs or died, 'e' when it ends. Its own end
// of the pipe is closed when it exits.
class Fixture {
 public:
  Fixture() {
    std::array<int, 2> ends{-1, -1};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    reader_.reset(ends[0]);
    writer_.reset(ends[1]);
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    wait_.reset(ends[0]);
    go_.reset(ends[1]);
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
                         ends.data()) == 0);
    needed_.reset(ends[0]);
    broker_.reset(ends[1]);
  }

  Result<Guardian> start() {
    auto guardian = Guardian::start(
        [this](Guardian::Cause cause) {
          say(cause == Guardian::Cause::kHangs ? 'h' : 'd');
          go_.reset();  // a failed test releases the guardian
          if (dies_) ::raise(SIGKILL);
          char byte;
          if (held_) (void)!::read(wait_.get(), &byte, 1);
          say('e');
        },
        needed_.get(), kPatience_ms);
    writer_.reset();
    return guardian;
  }

  // clean_up blocks until go_on().
  void hold() { held_ = true; }
  // clean_up kills the guardian.
  void die() { dies_ = true; }
  void end_broker() {
    ::shutdown(broker_.get(), SHUT_RDWR);  // the guardian has a copy
  }
  void go_on() { (void)!::write(go_.get(), "", 1); }

  // The next byte; 0: the guardian has exited, -1: nothing in time.
  int heard(int timeout_ms = kLong_ms) const {
    pollfd ready{reader_.get(), POLLIN, 0};
    if (::poll(&ready, 1, timeout_ms) == 0) return -1;
    char byte;
    return ::read(reader_.get(), &byte, 1) == 1 ? byte : 0;
  }

 private:
  void say(char byte) { (void)!::write(writer_.get(), &byte, 1); }

  UniqueFd reader_, writer_, wait_, go_, needed_, broker_;
  bool held_ = false;
  bool dies_ = false;
};

bool hangs_up(const Guardian& guardian, int timeout_ms) {
  pollfd ended{guardian.descriptor(), POLLIN, 0};
  return ::poll(&ended, 1, timeout_ms) == 1;
}

}  // namespace

TEST_CASE("a dismissed guardian exits without cleaning up") {
  Fixture fixture;
  Result<Guardian> guardian = fixture.start();
  REQUIRE(guardian.ok());
  guardian->beat(true);
  guardian->dismiss();
  CHECK(fixture.heard() == 0);
}

TEST_CASE("missing heartbeats are ignored while no thread is away") {
  Fixture fixture;
  Result<Guardian> guardian = fixture.start();
  REQUIRE(guardian.ok());
  guardian->beat(true);
  guardian->beat(false);
  CHECK(fixture.heard(5 * kPatience_ms) == -1);
  CHECK(guardian->clean_ups() == 0);
  guardian->dismiss();
  CHECK(fixture.heard() == 0);
}

TEST_CASE("the guardian cleans up once after penstockd dies") {
  Fixture fixture;
  {
    Result<Guardian> guardian = fixture.start();
    REQUIRE(guardian.ok());
  }  // its end of the pipe is closed, as by kill -9
  CHECK(fixture.heard() == 'd');
  CHECK(fixture.heard() == 'e');
  CHECK(fixture.heard() == 0);
}

TEST_CASE("a penstockd that resumes during a clean-up learns of its end") {
  Fixture fixture;
  fixture.hold();
  Result<Guardian> guardian = fixture.start();
  REQUIRE(guardian.ok());
  guardian->beat(true);
  REQUIRE(fixture.heard() == 'h');
  // Not counted yet: the clean-up would remove groups made now as well.
  guardian->beat(true);
  CHECK(guardian->clean_ups() == 0);
  fixture.go_on();
  REQUIRE(fixture.heard() == 'e');
  // The heartbeats counted as those of a running penstockd; no more follow.
  REQUIRE(fixture.heard() == 'h');
  CHECK(guardian->clean_ups() == 1);
  fixture.go_on();
  REQUIRE(fixture.heard() == 'e');
  CHECK(fixture.heard(5 * kPatience_ms) == -1);
  CHECK(guardian->clean_ups() == 2);
  guardian->dismiss();
  CHECK(fixture.heard() == 0);
}

TEST_CASE("penstockd learns of its guardian's death") {
  Fixture fixture;
  fixture.die();
  Result<Guardian> guardian = fixture.start();
  REQUIRE(guardian.ok());
  CHECK_FALSE(hangs_up(*guardian, 0));
  guardian->beat(true);  // and no more: the guardian begins to clean up
  CHECK(hangs_up(*guardian, kLong_ms));
}

TEST_CASE("a guardian without its broker exits, and penstockd learns of it") {
  Fixture fixture;
  Result<Guardian> guardian = fixture.start();
  REQUIRE(guardian.ok());
  fixture.end_broker();
  CHECK(hangs_up(*guardian, kLong_ms));
  CHECK(fixture.heard() == 0);  // it did not clean up
}
