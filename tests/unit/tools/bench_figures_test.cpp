#include "tools/penstock/bench_figures.h"

#include <nlohmann/json.hpp>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

TEST_CASE("a figure is the median, its spread the distance of the quartiles") {
  BenchFigure one = summarise("x", "us", {7});
  CHECK(one.value == 7);
  CHECK(one.spread == 0);
  CHECK(one.runs == 1);
  BenchFigure four = summarise("x", "us", {4, 1, 3, 2});
  CHECK(four.value == Approx(2.5));
  CHECK(four.spread == Approx(3.25 - 1.75));
  BenchFigure five = summarise("x", "us", {50, 10, 40, 20, 30});
  CHECK(five.value == 30);
  CHECK(five.spread == 20);
}

TEST_CASE("JSON has the fields that all benchmarks share") {
  nlohmann::json json = nlohmann::json::parse(figures_json(
      "allocator", "a \"machine\"\xff", {{"f", 1.5, "us", 0.1, 3}}));
  CHECK(json["bench"] == "allocator");
  CHECK(json["machine"].get<std::string>().starts_with("a \"machine\""));
  REQUIRE(json["figures"].size() == 1);
  nlohmann::json expected = {{"name", "f"},
                             {"value", 1.5},
                             {"unit", "us"},
                             {"spread", 0.1},
                             {"runs", 3}};
  CHECK(json["figures"][0] == expected);
}

TEST_CASE("the table has a line for each figure") {
  std::string table = figures_table({{"f", 1.5, "us", 0.1, 3}});
  CHECK(table.find("\nf ") != std::string::npos);
  CHECK(table.find("1.5 us") != std::string::npos);
}

TEST_CASE("figures that cannot be written are an error") {
  Status status = write_text("/nonexistent/figures.json", "x");
  REQUIRE_FALSE(status);
  CHECK(status.error().code == Code::kNotFound);
  status = write_text("/dev/full", "x");
  REQUIRE_FALSE(status);
  CHECK(status.error().saved_errno == ENOSPC);
}

}  // namespace
}  // namespace penstock
