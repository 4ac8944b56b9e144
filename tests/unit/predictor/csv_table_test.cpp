#include "predictor/csv_table.h"

#include "tests/unit/catch.h"

namespace penstock {
namespace {

CsvTable parsed(const std::string& text) {
  Result<CsvTable> table = CsvTable::parse(text, "t.csv");
  INFO(text);
  REQUIRE(table);
  return *std::move(table);
}

std::string refused(const std::string& text) {
  const Result<CsvTable> table = CsvTable::parse(text, "t.csv");
  INFO(text);
  REQUIRE_FALSE(table);
  CHECK(table.error().code == Code::kInvalidArgument);
  return table.error().message;
}

TEST_CASE("fields, quotes, comments and line ends are parsed") {
  const CsvTable table = parsed(
      "# a comment\r\na,b\r\n\r\n1,\"x, \"\"y\"\"\"\r\n,\"\"\n# no row\n2,z");
  REQUIRE(table.rows() == 3);
  CHECK(table.text(0, "a") == "1");
  CHECK(table.text(0, "b") == "x, \"y\"");
  CHECK(table.text(1, "a").empty());
  CHECK(table.text(1, "b").empty());
  CHECK(table.text(2, "b") == "z");
  CHECK(table.text(2, "c").empty());
  CHECK(table.has("b"));
  CHECK_FALSE(table.has("c"));
  CHECK(table.require({"b", "a"}));
  CHECK(table.require({"a", "c"}).error().message ==
        "t.csv: column \"c\" is missing");
}

TEST_CASE("invalid tables are refused with the line") {
  CHECK(refused("") == "t.csv: no header line");
  CHECK(refused("# only\n\n") == "t.csv: no header line");
  CHECK(refused("a,,b\n") == "t.csv:1: a column has no name");
  CHECK(refused("a,b,a\n") == "t.csv:1: column \"a\" is there twice");
  CHECK(refused("a,b\n1\n") == "t.csv:2: 1 fields; the header names 2");
  CHECK(refused("a\n\n1,2\n") == "t.csv:3: 2 fields; the header names 1");
  CHECK(refused("a\n\"1\n") == "t.csv:2: a quote is not closed");
  CHECK(refused("a\n\"1\"2\n") ==
        "t.csv:2: text follows a closing quote; allowed: a comma");
  CHECK(refused(std::string("a\n\0\n", 4)) ==
        "t.csv:2: a control character; allowed: text");
  CHECK(refused(std::string(64, ',')) ==
        "t.csv:1: over 64 columns; allowed: 64");
  std::string many = "a\n";
  for (int i = 0; i <= 1000000; ++i) many += "1\n";
  CHECK(refused(many) == "t.csv:1000002: over 1000000 rows; allowed: 1000000");
}

TEST_CASE(
    "numbers are checked for their range, and empty ones get the default") {
  const CsvTable table = parsed("a,b\n1.5,\nx,9\n");
  CHECK(*table.number(0, "a", 0, 2, -1) == 1.5);
  CHECK(*table.number(0, "b", 0, 2, -1) == -1);
  CHECK(table.number(1, "a", 0, 2, -1).error().message ==
        "t.csv:3: a: \"x\" must be 0 to 2");
  CHECK(table.number(1, "b", 0, 2, -1).error().message ==
        "t.csv:3: b: \"9\" must be 0 to 2");
}

TEST_CASE("a written line reads back") {
  const std::vector<std::string> fields = {"a", "b,c", "say \"d\"", ""};
  const CsvTable table = parsed("w,x,y,z\n" + csv_line(fields));
  CHECK(table.text(0, "w") == fields[0]);
  CHECK(table.text(0, "x") == fields[1]);
  CHECK(table.text(0, "y") == fields[2]);
  CHECK(table.text(0, "z") == fields[3]);
}

}  // namespace
}  // namespace penstock
