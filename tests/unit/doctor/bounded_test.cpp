#include "tools/doctor/bounded.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <string>

#include "common/clock.h"
#include "common/unique_fd.h"
#include "tests/unit/catch.h"

namespace penstock::doctor {
namespace {

void say(int out, const std::string& text) {
  REQUIRE(::write(out, text.data(), text.size()) == ssize_t(text.size()));
}

TEST_CASE("a child's output is returned completely") {
  const auto text = output_of(
      "it", 10'000, [](int out) { say(out, std::string(60'000, 'x')); });
  REQUIRE(text);
  CHECK(*text == std::string(60'000, 'x'));
}

TEST_CASE("a child that hangs is abandoned at the deadline") {
  const uint64_t begun_ns = monotonic_ns();
  const auto text = output_of("df", 100, [](int) { ::pause(); });
  REQUIRE_FALSE(text);
  CHECK(text.error().code == Code::kUnavailable);
  CHECK(text.error().message == "df: not done within 100 ms");
  CHECK(monotonic_ns() - begun_ns < 5'000'000'000);
}

TEST_CASE("a child's orphans do not delay the result") {
  const auto text = output_of("it", 200, [](int) {
    if (::fork() == 0) {
      ::alarm(1);  // nothing else ends it
      ::pause();
    }
  });
  REQUIRE_FALSE(text);
  CHECK(text.error().code == Code::kUnavailable);
}

TEST_CASE("a child that writes without end is an error") {
  const auto text = output_of("it", 10'000, [](int out) {
    const std::string block(4096, 'x');
    while (::write(out, block.data(), block.size()) > 0) {
    }
  });
  REQUIRE_FALSE(text);
  CHECK(text.error().code == Code::kLimit);
}

TEST_CASE("the output of a child before an exception is kept") {
  const auto text = output_of("it", 10'000, [](int out) {
    say(out, "half");
    throw std::bad_alloc();
  });
  REQUIRE(text);
  CHECK(*text == "half");
}

TEST_CASE("standard output and error of a program are returned") {
  const auto text =
      output_of_program({"sh", "-c", "echo out; echo err >&2; exit 3"}, 10'000);
  REQUIRE(text);
  CHECK(*text == "out\nerr\n");
}

TEST_CASE("a missing program and a hanging one give different errors") {
  const auto none = output_of_program({"penstock-no-such-program"}, 10'000);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Code::kNotFound);
  CHECK(none.error().message == "penstock-no-such-program: no such program");
  const auto late = output_of_program({"sleep", "60"}, 100);
  REQUIRE_FALSE(late);
  CHECK(late.error().code == Code::kUnavailable);
}

}  // namespace
TEST_CASE("a program gets its input, and its failure is told") {
  CHECK(run_program({"sh", "-c", "read -r word && test \"$word\" = hello"},
                    "hello\n", 10'000)
            .ok());
  const auto failed =
      run_program({"sh", "-c", "echo no such user >&2; exit 3"}, "", 10'000);
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().message == "sh: ended with status 3: no such user?");
  const auto killed = run_program({"sh", "-c", "kill -9 $$"}, "", 10'000);
  REQUIRE_FALSE(killed.ok());
  CHECK(killed.error().message == "sh: ended with signal 9");
  CHECK(run_program({"penstock-no-such-program"}, "", 10'000).error().code ==
        Code::kNotFound);
}

TEST_CASE("a program that does not end, or only closes its output, is killed") {
  // The first one leaves a process behind that keeps the output open.
  CHECK(run_program({"sh", "-c", "sleep 5 & exit 0"}, "", 3'000).ok());
  for (const char* script : {"sleep 60", "exec >&- 2>&-; sleep 60"}) {
    const auto late = run_program({"sh", "-c", script}, "", 200);
    CAPTURE(script);
    REQUIRE_FALSE(late.ok());
    CHECK(late.error().code == Code::kUnavailable);
    CHECK(late.error().message == "sh: not done within 200 ms");
  }
}

TEST_CASE("a child that hangs does not keep our locks") {
  char name[] = "/tmp/penstock-lock-XXXXXX";
  UniqueFd file(::mkostemp(name, O_CLOEXEC));
  REQUIRE(::flock(file.get(), LOCK_EX) == 0);
  CHECK_FALSE(output_of("it", 100, [](int) {
                // Alive for longer than its parent waits.
                if (::fork() == 0) {
                  ::sleep(5);
                  ::_exit(0);
                }
                ::pause();
              }).ok());
  file.reset();
  const UniqueFd other(::open(name, O_RDWR | O_CLOEXEC));
  CHECK(::flock(other.get(), LOCK_EX | LOCK_NB) == 0);
  ::unlink(name);
}

TEST_CASE("a program that does not read its input is no error") {
  CHECK(run_program({"true"}, std::string(1 << 20, 'x'), 10'000).ok());
}

}  // namespace penstock::doctor
