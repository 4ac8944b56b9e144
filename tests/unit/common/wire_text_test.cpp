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
