#include "common/wire_text.h"

#include <string>

#include "tests/unit/catch.h"

using namespace penstock;  // NOLINT: the unit under test

TEST_CASE("wire_text: set_field truncates long text and pads short text") {
  char field[4] = {'x', 'x', 'x', 'x'};
  set_field(field, "ab");
  CHECK(std::string(field, 4) == std::string("ab\0\0", 4));
  set_field(field, "abcdef");
  CHECK(std::string(field, 4) == "abcd");
}

TEST_CASE("wire_text: set_printable keeps only printable ASCII") {
  char field[8];
  set_printable(field, "a\n\x7f\xc3\xa9z");
  CHECK(std::string(field, 8) == std::string("a????z\0\0", 8));
}

TEST_CASE("wire_text: a field is read up to its NUL or its end") {
  char field[4] = {'a', 'b', 0, 0};
  std::string_view text;
  REQUIRE(printable_field(field, text));
  CHECK(text == "ab");
  const char full[4] = {'a', 'b', 'c', 'd'};
  REQUIRE(printable_field(full, text));
  CHECK(text == "abcd");
}

TEST_CASE("wire_text: bytes after the NUL and control characters are refused") {
  std::string_view text;
  const char behind[4] = {'a', 0, 'b', 0};
  CHECK_FALSE(printable_field(behind, text));
  const char control[4] = {'a', '\n', 0, 0};
  CHECK_FALSE(printable_field(control, text));
}

TEST_CASE("wire_text: UTF-8 is kept, and cut between characters") {
  char field[8];
  const auto kept = [&](std::string_view text) {
    set_utf8(field, text);
    return std::string(fixed_text(field));
  };
  CHECK(kept("\xc3\xa9t\xc3\xa9") == "\xc3\xa9t\xc3\xa9");
  CHECK(kept("abcdefg\xc3\xa9") == "abcdefg");  // one byte of two fits
  CHECK(kept("abcdef\xc3\xa9") == "abcdef\xc3\xa9");
  CHECK(kept("\xf0\x9f\x9a\x80"
             "abcdef") ==
        "\xf0\x9f\x9a\x80"
        "abcd");
  CHECK(kept("abcdefghi") == "abcdefgh");
  CHECK(kept("").empty());
}

TEST_CASE(
    "wire_text: what is no character of UTF-8, or controls, becomes '?'") {
  char field[16];
  struct Row {
    const char* text;
    const char* kept;
  };
  for (const Row& row : {Row{"a\nb\x7f", "a?b?"}, Row{"\xff\xfe", "??"},
                         Row{"\xc3", "?"},            // cut
                         Row{"\xa9x", "?x"},          // a continuation alone
                         Row{"\xc0\xaf", "??"},       // too long a form
                         Row{"\xe0\x82\xa9", "???"},  // likewise
                         Row{"\xf0\x80\x82\xa9", "????"},
                         Row{"\xed\xa0\x80", "???"},       // half of a pair
                         Row{"\xf4\x90\x80\x80", "????"},  // beyond U+10FFFF
                         Row{"\xc2\x9b"
                             "2J",
                             "??2J"}}) {  // CSI
    CAPTURE(row.text);
    set_utf8(field, row.text);
    CHECK(fixed_text(field) == row.kept);
  }
}
