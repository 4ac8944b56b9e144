#include "common/event_loop.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <string>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

// Readable until it is read.
UniqueFd ready_fd() { return UniqueFd(::eventfd(1, EFD_NONBLOCK)); }

}  // namespace

TEST_CASE("what many events cause is done once, after all of them") {
  EventLoop loop = *EventLoop::create();
  std::string calls;
  const UniqueFd fds[] = {ready_fd(), ready_fd(), ready_fd()};
  for (const UniqueFd& fd : fds) {
    REQUIRE(loop.watch(fd.get(), [&] {
      calls += 'e';
      loop.forget(fd.get());
    }));
  }
  loop.at_turn_end([&] {
    calls += '.';
    loop.stop();
  });
  REQUIRE(loop.run());
  CHECK(calls == "eee.");
}

TEST_CASE("an event that follows from a turn belongs to the next") {
  EventLoop loop = *EventLoop::create();
  std::string calls;
  const UniqueFd first = ready_fd(), second = ready_fd();
  REQUIRE(loop.watch(first.get(), [&] {
    calls += '1';
    loop.forget(first.get());
    REQUIRE(loop.watch(second.get(), [&] {
      calls += '2';
      loop.stop();
    }));
  }));
  loop.at_turn_end([&] { calls += '.'; });
  REQUIRE(loop.run());
  CHECK(calls == "1.2.");
}
