#include "tools/doctor/finding.h"

#include "tests/unit/catch.h"

namespace penstock::doctor {
namespace {

const Findings kFour = {ok("a", "fine"), warn("longer", "odd", "do this"),
                        fail("b", "broken", "mend it"), skip("c", "not here")};

TEST_CASE("each finding and each remedy has its own line") {
  CHECK(render_findings(kFour, {}) ==
        "ok    a       fine\n"
        "warn  longer  odd\n"
        "      fix: do this\n"
        "FAIL  b       broken\n"
        "      fix: mend it\n"
        "skip  c       not here\n");
}

TEST_CASE("a terminal adds only colour") {
  TextStyle style;
  style.color = true;
  const std::string text = render_findings({fail("b", "x", "")}, style);
  CHECK(text == "\033[1;31mFAIL\033[0m  b  x\n");
}

TEST_CASE("lines are not wrapped, and control characters are replaced") {
  const std::string found = std::string(300, 'x') + "\033[2J\n";
  CHECK(render_findings({ok("a", found)}, {}) ==
        "ok    a  " + std::string(300, 'x') + "?[2J?\n");
}

TEST_CASE("JSON has the documented form and is read back unchanged") {
  CHECK(to_json({fail("b", "broken", "mend it")}) ==
        "[\n  {\n    \"check\": \"b\",\n    \"status\": \"fail\",\n"
        "    \"found\": \"broken\",\n    \"remedy\": \"mend it\"\n  }\n]\n");
  const auto again = parse_findings(to_json(kFour));
  REQUIRE(again);
  CHECK(*again == kFour);
  CHECK(parse_findings(to_json({ok("a", "\xff\xfe")})));
}

TEST_CASE("invalid lists of findings are refused") {
  for (const char* text : {"", "[{]", "[{\"check\": 1}]", "[1]"}) {
    INFO(text);
    const auto findings = parse_findings(text);
    REQUIRE_FALSE(findings);
    CHECK(findings.error().code == Code::kInvalidArgument);
  }
}

TEST_CASE("warnings and skipped checks are not failures") {
  CHECK(any_failed(kFour));
  CHECK_FALSE(any_failed({ok("a", ""), warn("b", "", ""), skip("c", "")}));
}

TEST_CASE("checks that need root are skipped, other failures count") {
  const Finding denied = unreadable("a", system_error(EACCES, "/x"), "mend it");
  CHECK(denied == skip("a", "/x: Permission denied: run as root to see it"));
  const Finding gone = unreadable("a", system_error(ENOENT, "/x"), "mend it");
  CHECK(gone == fail("a", "/x: No such file or directory", "mend it"));
}

}  // namespace
}  // namespace penstock::doctor
