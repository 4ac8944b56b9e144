#include "tools/doctor/bounded.h"

#include <unistd.h>

#include <string>

#include "common/clock.h"
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
}  // namespace penstock::doctor
