#include "node_agent/guardian.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

constexpr int kPatience_ms = 100;
constexpr int kLong_ms = 10'000;

// What the guardian does, as bytes in a pipe: 'b' when it begins to clean up,
// 'e' when it ends. Its own end of the pipe is closed when it exits.
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
  }

  Result<Guardian> start() {
    auto guardian = Guardian::start(
        [this] {
          say('b');
          go_.reset();  // a test that has failed lets go
          char byte;
          if (held_) (void)!::read(wait_.get(), &byte, 1);
          say('e');
        },
        kPatience_ms);
    writer_.reset();
    return guardian;
  }

  // It stays in clean_up until it may go on.
  void hold() { held_ = true; }
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

  UniqueFd reader_, writer_, wait_, go_;
  bool held_ = false;
};

}  // namespace

TEST_CASE("a guardian that is dismissed has done nothing") {
  Fixture fixture;
  Result<Guardian> guardian = fixture.start();
  REQUIRE(guardian.ok());
  guardian->beat(true);
  guardian->dismiss();
  CHECK(fixture.heard() == 0);
}

TEST_CASE("silence while nothing is away is nobody's death") {
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

TEST_CASE("a penstockd that dies is cleaned up after, once") {
  Fixture fixture;
  {
    Result<Guardian> guardian = fixture.start();
    REQUIRE(guardian.ok());
  }  // its end of the pipe is closed, as by kill -9
  CHECK(fixture.heard() == 'b');
  CHECK(fixture.heard() == 'e');
  CHECK(fixture.heard() == 0);
}

TEST_CASE("whoever goes on while it is cleaned up after hears of its end") {
  Fixture fixture;
  fixture.hold();
  Result<Guardian> guardian = fixture.start();
  REQUIRE(guardian.ok());
  guardian->beat(true);
  REQUIRE(fixture.heard() == 'b');
  // Not before: what is begun anew now would be removed as well.
  guardian->beat(true);
  CHECK(guardian->clean_ups() == 0);
  fixture.go_on();
  REQUIRE(fixture.heard() == 'e');
  // It took the heartbeats for those of a penstockd that goes on, and hears
  // no more of them.
  REQUIRE(fixture.heard() == 'b');
  CHECK(guardian->clean_ups() == 1);
  fixture.go_on();
  REQUIRE(fixture.heard() == 'e');
  CHECK(fixture.heard(5 * kPatience_ms) == -1);
  CHECK(guardian->clean_ups() == 2);
  guardian->dismiss();
  CHECK(fixture.heard() == 0);
}
