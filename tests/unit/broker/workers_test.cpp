// Tests broker/workers.h.
#include "broker/workers.h"

#include <signal.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/unit/catch.h"

using namespace penstock;

namespace {

// Ends only by a signal.
Workers::Work hung(uid_t user, unsigned deadline_s) {
  return {.user = user, .deadline_s = deadline_s, .body = [](int, int) {
            ::raise(SIGSTOP);
            ::pause();
          }};
}

}  // namespace

TEST_CASE("a user's hung children leave room for other users and for metrics") {
  ::signal(SIGCHLD, SIG_IGN);
  Workers workers;
  const unsigned long_s = 60;
  for (size_t i = 0; i < Workers::kMostOf; ++i) {
    REQUIRE(workers.start(hung(1000, long_s)));
  }
  const Status fifth = workers.start(hung(1000, long_s));
  REQUIRE_FALSE(fifth);
  CHECK(fifth.error().code == Code::kUnavailable);
  size_t others = Workers::kMostOf;
  for (uid_t user = 1001; workers.start(hung(user, long_s)); ++user) ++others;
  CHECK(others == Workers::kMostOfUsers);
  CHECK(workers.start({.body = [](int, int) {}}));
}

TEST_CASE("a child that its user has stopped ends at its deadline") {
  ::signal(SIGCHLD, SIG_IGN);
  Workers workers;
  for (size_t i = 0; i < Workers::kMostOf; ++i) {
    REQUIRE(workers.start(hung(1000, 1)));
  }
  CHECK_FALSE(workers.start(hung(1000, 1)));
  const uint64_t until_ns = monotonic_ns() + 20'000'000'000;
  bool has_room = false;
  while (!has_room && monotonic_ns() < until_ns) {
    ::usleep(20'000);
    has_room =
        workers.start({.user = uid_t{1000}, .body = [](int, int) {}}).ok();
  }
  CHECK(has_room);
}
