#include "tools/penstock/csv.h"

#include <limits>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

TEST_CASE("fields are separated by commas and records end with CR LF") {
  CHECK(csv_record({"a", "", "b"}) == "a,,b\r\n");
  CHECK(csv_record({""}) == "\r\n");
}

TEST_CASE("fields with separators, quotes or line ends are quoted") {
  CHECK(csv_record({"a,b", "say \"x\"", "two\nlines", "c;d", "e\rf"}) ==
        "\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",\"c;d\",\"e\rf\"\r\n");
}

TEST_CASE("text becomes neither a formula nor a terminal's control sequence") {
  CHECK(csv_text("=cmd|' /C calc'!A0") == "'=cmd|' /C calc'!A0");
  CHECK(csv_text("\uff1d1+1") == "'\uff1d1+1");  // a full-width sign
  CHECK(csv_text("\u5b66\u7fd2") == "\u5b66\u7fd2");
  CHECK(csv_text("+1") == "'+1");
  CHECK(csv_text("-1") == "'-1");
  CHECK(csv_text("@SUM(A1)") == "'@SUM(A1)");
  CHECK(csv_text("\t=1") == "?=1");  // no longer a tab, so no formula
  CHECK(csv_text("train=7") == "train=7");
  CHECK(csv_text("\033[2Jevil\nname") == "?[2Jevil?name");
  CHECK(csv_text("") == "");
}

TEST_CASE("numbers read back unchanged, unknown ones are empty") {
  CHECK(csv_number(0.1) == "0.1");
  CHECK(csv_number(0) == "0");
  CHECK(csv_number(1.78e9) == "1780000000");  // no exponent
  CHECK(std::stod(csv_number(std::numeric_limits<double>::max())) ==
        std::numeric_limits<double>::max());
  CHECK(csv_number(1780000000.5) == "1780000000.5");
  CHECK(csv_number(std::nullopt) == "");
}

}  // namespace
}  // namespace penstock
