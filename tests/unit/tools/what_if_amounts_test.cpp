#include "tools/penstock/what_if_amounts.h"

#include <algorithm>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

using Amounts = std::vector<double>;

Amounts parsed(Axis axis, const std::string& text) {
  const auto amounts = parse_amounts(axis, text);
  INFO(text << (amounts ? "" : ": " + amounts.error().message));
  REQUIRE(amounts);
  return *amounts;
}

TEST_CASE("single amounts, lists and ranges are parsed") {
  CHECK(parsed(Axis::kCores, "4") == Amounts{4});
  CHECK(parsed(Axis::kCores, "4,1,2,4") == Amounts{1, 2, 4});
  CHECK(parsed(Axis::kCores, "0.25..1:0.25") == Amounts{0.25, 0.5, 0.75, 1});
  CHECK(parsed(Axis::kCores, "1..6:2") == Amounts{1, 3, 5});
  CHECK(parsed(Axis::kCores, "2..2") == Amounts{2});
  CHECK(parsed(Axis::kRanks, "1..8") == Amounts{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(parsed(Axis::kCache, "40%") == Amounts{0.4});
  CHECK(parsed(Axis::kCache, "0..100%:50%") == Amounts{0, 0.5, 1});
  CHECK(parsed(Axis::kDensity, "0.1,1%") == Amounts{0.001, 0.01});
  CHECK(parsed(Axis::kAccelerator, "2x") == Amounts{2});
  CHECK(parsed(Axis::kAccelerator, "1,1.5x") == Amounts{1, 1.5});
  constexpr double kMiB = 1048576;
  CHECK(parsed(Axis::kBandwidth, "50..100M:50") ==
        Amounts{50 * kMiB, 100 * kMiB});
  CHECK(parsed(Axis::kBandwidth, "512K,1MB/s") == Amounts{kMiB / 2, kMiB});
}

TEST_CASE("a range without a step has round amounts") {
  const Amounts cores = parsed(Axis::kCores, "1..24");
  CHECK(cores.size() == 24);
  CHECK(cores[23] == 24);
  CHECK(parsed(Axis::kCores, "1..100") ==
        Amounts{1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100});
  CHECK(parsed(Axis::kRanks, "1..64") ==
        Amounts{1, 10, 20, 30, 40, 50, 60, 64});
  const Amounts cache = parsed(Axis::kCache, "0..100%");
  REQUIRE(cache.size() == 11);
  CHECK(cache[3] == Approx(0.3));
  const Amounts rates = parsed(Axis::kBandwidth, "50M..400M");
  REQUIRE(rates.size() == 8);
  CHECK(rates[1] == 100.0 * 1048576);
  CHECK(parsed(Axis::kAccelerator, "1..4x").size() == 13);
}

TEST_CASE("invalid amounts are refused with the allowed form") {
  const struct {
    Axis axis;
    const char* text;
    const char* message;
  } rows[] = {
      {Axis::kCores, "", "must be 0.001 to 4096"},
      {Axis::kCores, "all", "is not an amount"},
      {Axis::kCores, "0", "must be 0.001 to 4096"},
      {Axis::kCores, "-1", "is not an amount"},
      {Axis::kCores, "5000", "must be 0.001 to 4096"},
      {Axis::kCores, "1,,2", "must be 0.001"},
      {Axis::kCores, "..", "must be 0.001"},
      {Axis::kCores, "1..", "must be 0.001"},
      {Axis::kCores, "4..1", "the range's end is under its begin"},
      {Axis::kCores, "1..4:0", "must be 0.001"},
      {Axis::kCores, "1..4:", "must be 0.001"},
      {Axis::kCores, "1..4096:0.001", "more than 256 amounts"},
      {Axis::kCores, "4%", "\"4%\" is not an amount"},
      {Axis::kCache, "0.4", "\"0.4\" is not an amount"},
      {Axis::kCache, "101%", "must be 0 to 100"},
      {Axis::kCache, "0..1", "is not an amount"},
      {Axis::kCache, "0..100%:0%", "step must be over 0"},
      {Axis::kBandwidth, "fast", "fast"},
      {Axis::kBandwidth, "0", "0"},
      {Axis::kAccelerator, "2y", "is not an amount"},
      {Axis::kAccelerator, "0x", "must be 0.01 to 1000"},
      {Axis::kRanks, "1.5", "must be 1 to 4096"},
      {Axis::kRanks, "0..4", "must be 1 to 4096"},
      {Axis::kDensity, "0%", "must be 0.001 to 100"},
      {Axis::kDensity, "100.1%", "must be 0.001 to 100"},
      {Axis::kDensity, "0.01", "\"0.01\" is not an amount"},
      {Axis::kDensity, "nan%", "\"nan%\" is not an amount"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.text);
    const auto amounts = parse_amounts(row.axis, row.text);
    REQUIRE_FALSE(amounts);
    const std::string& message = amounts.error().message;
    INFO(message);
    CHECK(amounts.error().code == Code::kInvalidArgument);
    CHECK(message.find(row.message) != std::string::npos);
    CHECK(message.find("; allowed: such as ") != std::string::npos);
  }
  std::string list = "1";
  for (int i = 0; i < 256; ++i) list += ",1";
  CHECK_FALSE(parse_amounts(Axis::kCores, list));
}

TEST_CASE("steps are round, at most as many as requested") {
  CHECK(round_step(Axis::kCores, 10, 5) == Approx(2));
  CHECK(round_step(Axis::kCores, 11, 5) == Approx(2.5));
  CHECK(round_step(Axis::kCores, 0.9, 5) == Approx(0.2));
  CHECK(round_step(Axis::kRanks, 3, 12) == 1);
  CHECK(round_step(Axis::kRanks, 25, 12) == 5);
  CHECK(round_step(Axis::kBandwidth, 10 * 1048576.0, 5) == Approx(2097152));
}

TEST_CASE("amounts are shown with units, and small ones not as 0") {
  CHECK(named_amount(Axis::kCores, 2.5) == "2.5 cores");
  CHECK(named_amount(Axis::kCores, 1) == "1 core");
  CHECK(named_amount(Axis::kCores, 0.00012) == "0.00012 cores");
  CHECK(named_amount(Axis::kRanks, 1) == "1 rank");
  CHECK(named_amount(Axis::kRanks, 4) == "4 ranks");
  CHECK(named_amount(Axis::kCache, 1.0 / 3) == "33.3%");
  CHECK(named_amount(Axis::kCache, 0.0002) == "0.02%");
  CHECK(named_amount(Axis::kBandwidth, 2097152) == "2 MB/s");
  CHECK(named_amount(Axis::kAccelerator, 1.25) == "1.25x");
}

}  // namespace
}  // namespace penstock
