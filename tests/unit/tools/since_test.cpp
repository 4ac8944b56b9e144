#include "tools/penstock/since.h"

#include "tests/unit/catch.h"

namespace penstock {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr double kNow = 1795535735;  // 2026-11-24 16:35:35 UTC

double since(std::string_view text) {
  Result<double> parsed = parse_since(text, kNow);
  if (!parsed) FAIL(parsed.error().message);
  return *parsed;
}

TEST_CASE("ages count back from now") {
  CHECK(since("30m") == kNow - 1800);
  CHECK(since("12h") == kNow - 43200);
  CHECK(since("7d") == kNow - 604800);
  CHECK(since("2w") == kNow - 1209600);
  CHECK(since("1.5d") == kNow - 129600);
  CHECK(since("36500d") == 0);  // times before 1970 become 0
}

TEST_CASE("dates are UTC") {
  CHECK(since("1970-01-01") == 0);
  CHECK(since("2026-11-01") == 1793491200);
  CHECK(since("2026-11-01Z") == 1793491200);
  CHECK(since("2026-11-01T14:30") == 1793491200 + 52200);
  CHECK(since("2026-11-01T14:30:05") == 1793491200 + 52205);
  CHECK(since("2026-11-01T14:30Z") == 1793491200 + 52200);
  CHECK(since("2024-02-29") == 1709164800);  // a leap year
}

TEST_CASE("other texts are refused with the allowed ones") {
  for (const char* text : {"",
                           "d",
                           "7",
                           "7 d",
                           "-7d",
                           "+7d",
                           "0d",
                           "0h",
                           "7D",
                           "7days",
                           "7s",
                           "7dd",
                           "nand",
                           "infh",
                           "1e400d",
                           "36501d",
                           "5215w",
                           "2026",
                           "2026-11",
                           "2026-13-01",
                           "2026-02-29",
                           "2026-11-31",
                           "2026-11-00",
                           "26-11-01",
                           "2026-1-1",
                           "2026/11/01",
                           "2026-11-01 14:30",
                           "2026-11-01T",
                           "2026-11-01T24:00",
                           "2026-11-01T14",
                           "2026-11-01T14:60",
                           "2026-11-01T14:30:60",
                           "2026-11-01T14:30:05.5",
                           "2026-11-01T14:30+01",
                           "2026-11-01ZZ",
                           "1969-12-31",
                           "yesterday",
                           "2026-11-01\n"}) {
    CAPTURE(text);
    Result<double> parsed = parse_since(text, kNow);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().code == Code::kInvalidArgument);
    CHECK_THAT(parsed.error().message,
               ContainsSubstring("--since ") && ContainsSubstring("7d"));
  }
  Result<double> later = parse_since("2026-11-25", kNow);
  REQUIRE_FALSE(later);
  CHECK_THAT(later.error().message, ContainsSubstring("yet to come"));
}

TEST_CASE("an error does not repeat the user's control characters") {
  Result<double> parsed = parse_since("\033[2J", kNow);
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().message.find('\033') == std::string::npos);
}

}  // namespace
}  // namespace penstock
