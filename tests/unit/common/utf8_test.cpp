#include "common/utf8.h"

#include "tests/unit/catch.h"

using namespace penstock;  // NOLINT: the unit under test

TEST_CASE("utf8: a text is cut between characters") {
  CHECK(utf8_cut("abc", 3) == "abc");
  CHECK(utf8_cut("ab\xc3\xa9", 3) == "ab");
  CHECK(utf8_cut("ab\xc3\xa9", 4) == "ab\xc3\xa9");
  CHECK(utf8_cut("\xff\xff\xff", 2) == "\xff\xff");
}
