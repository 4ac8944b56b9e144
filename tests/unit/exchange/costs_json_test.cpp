#include "exchange/bench/costs_json.h"

#include <string>

#include "tests/unit/catch.h"

using namespace penstock;
using namespace penstock::exchange;

namespace {

std::string file_with(const std::string& byte_s) {
  return R"({"message_s": 2e-5, "byte_s": )" + byte_s +
         R"(, "add_s": 0, "select_s": 4e-10, "record_s": 1e-8,
             "ranks": 4, "measured": []})";
}

std::string why_not(const std::string& text) {
  const auto costs = parse_costs(text);
  return costs ? "" : costs.error().message;
}

}  // namespace

TEST_CASE("costs are read, and what they were measured on is not looked at") {
  const auto costs = parse_costs(file_with("8e-9"));
  REQUIRE(costs);
  CHECK(costs->message_s == 2e-5);
  CHECK(costs->byte_s == 8e-9);
  CHECK(costs->add_s == 0);
  CHECK(costs->select_s == 4e-10);
  CHECK(costs->record_s == 1e-8);
}

TEST_CASE("what is no file of costs is refused") {
  for (const char* text : {"", "{", "[1]", "7", "{}"}) {
    CAPTURE(text);
    CHECK(why_not(text).find("no number message_s: penstock bench exchange") ==
          0);
  }
  CHECK(why_not(file_with("\"fast\"")).find("no number byte_s") == 0);
  CHECK(why_not(file_with("-1e-9")) == "byte_s: must be 0 or more");
  CHECK(why_not(file_with("1e999")).find("no number") == 0);
}

TEST_CASE("a file that is not there is named") {
  const auto costs = read_costs("/nowhere/costs.json");
  REQUIRE_FALSE(costs);
  CHECK(costs.error().code == Code::kNotFound);
  CHECK(costs.error().message.find("/nowhere/costs.json") == 0);
}
