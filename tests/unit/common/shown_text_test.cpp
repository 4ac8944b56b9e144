#include "common/shown_text.h"

#include "tests/unit/catch.h"

using namespace penstock;  // NOLINT: the unit under test

TEST_CASE("shown_text: control and format characters are not shown") {
  CHECK(shown_text("a\nb\x7f") == "a?b?");
  CHECK(shown_text("\xc2\x9b"
                   "2J") == "??2J");  // CSI as one character of C1
  for (const char* character :
       {"\xe2\x80\x8b", "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xae",
        "\xe2\x81\xa0", "\xe2\x81\xa9", "\xef\xbb\xbf"}) {
    CAPTURE(character);
    CHECK(shown_text(character) == "?");
  }
  // Their neighbours are letters and signs.
  for (const char* character :
       {"\xe2\x80\x8a", "\xe2\x80\x90", "\xe2\x80\xa7", "\xe2\x80\xaf",
        "\xe2\x81\xb0", "\xef\xbc\x81"}) {
    CAPTURE(character);
    CHECK(shown_text(character) == character);
  }
}

TEST_CASE(
    "shown_text: in ASCII a character becomes one '?', as does a stray byte") {
  CHECK(shown_text("\xc3\xa9t\xf0\x9f\x9a\x80", false) == "?t?");
  CHECK(shown_text("\xc3\xa9t\xf0\x9f\x9a\x80") == "\xc3\xa9t\xf0\x9f\x9a\x80");
  CHECK(shown_text("\xff\xc3") == "??");
}

TEST_CASE("shown_text: letters of East Asia take two columns") {
  CHECK(columns_of("a\xc3\xa9") == 2);
  CHECK(columns_of("\xe5\xad\xa6\xff") == 3);
  CHECK(bytes_in_columns("\xe5\xad\xa6\xe7\xbf\x92", 3) == 3);
  CHECK(shown_in_columns("\xe5\xad\xa6\n\xe7\xbf\x92", 4) == "\xe5\xad\xa6?");
  CHECK(shown_in_columns("ab", 0).empty());
}
