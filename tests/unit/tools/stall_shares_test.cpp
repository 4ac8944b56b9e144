#include "tools/penstock/stall_shares.h"

#include <cmath>
#include <limits>
#include <random>

#include "tests/unit/catch.h"
#include "wire/history_row.h"

namespace penstock {
namespace {

// The texts' sum in tenths of per cent; unknown parts count as 0.
int sum_of(const ShareTexts& shares) {
  double sum = 0;
  for (const std::string& text : shares) {
    if (text == kUnknownShare) continue;
    const double percent = std::stod(text);
    CHECK(percent >= 0);
    CHECK(percent <= 100);
    sum += percent;
  }
  return int(std::lround(sum * 10));
}

TEST_CASE("shares are tenths of per cent that add up to 100.0%") {
  const RunTotals run{
      .wall_s = 3,
      .parts_s = {.compute = 1, .fetch_stall = 1, .prep_stall = 1}};
  const ShareTexts shares = share_texts(run);
  CHECK(shares[0] == "33.4%");  // the remainder goes to the first
  CHECK(shares[1] == "33.3%");
  CHECK(shares[2] == "33.3%");
  CHECK(shares[4] == "0.0%");
}

TEST_CASE("each of the five parts has its own position") {
  const RunTotals run{.wall_s = 100,
                      .parts_s = {.compute = 50,
                                  .fetch_stall = 4,
                                  .prep_stall = 8,
                                  .exchange_stall = 16}};
  CHECK(share_texts(run) ==
        ShareTexts{"50.0%", "4.0%", "8.0%", "16.0%", "22.0%"});
  JobRecord job;
  job.gpus = 3;
  job.run = run;
  StallTotals totals;
  totals.add(job);
  CHECK(share_texts(totals) == share_texts(run));
}

TEST_CASE("an unknown part is shown as ---, not as 0.0%") {
  const ShareTexts shares =
      share_texts(RunTotals{.wall_s = 100, .parts_s = {.fetch_stall = 0}});
  CHECK(shares[0] == "---");
  CHECK(shares[1] == "0.0%");
  CHECK(shares[2] == "---");
  CHECK(shares[3] == "---");
  CHECK(shares[4] == "100.0%");
  for (const RunTotals& run : {RunTotals(), RunTotals{.wall_s = 0}}) {
    for (const std::string& text : share_texts(run)) CHECK(text == "---");
  }
}

TEST_CASE("shares of totals are of GPU hours, without unknown parts") {
  StallTotals totals;
  totals.told_gpu_h = 80;
  totals.parts_gpu_h.compute = 40;
  totals.known_gpu_h.compute = 80;
  totals.parts_gpu_h.prep_stall = 10;
  totals.known_gpu_h.prep_stall = 20;
  const ShareTexts shares = share_texts(totals);
  CHECK(shares[0] == "50.0%");
  CHECK(shares[1] == "---");
  CHECK(shares[2] == "12.5%");
  CHECK(shares[4] == "37.5%");
  for (const std::string& text : share_texts(StallTotals())) {
    CHECK(text == "---");
  }
}

TEST_CASE("for any answer of a controller, shares are 0 to 100% and add up") {
  const uint64_t seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  constexpr double kOdd[] = {0,    -1,       1e-300, 0.1,   1,
                             3600, 3600.004, 1e18,   1e300, -1e300};
  const auto any = [&] { return kOdd[random() % std::size(kOdd)]; };
  for (int round = 0; round < 2000; ++round) {
    nlohmann::json row, sums;
    for (const RunField& field : kRunFields) {
      if (random() % 4) row[field.name] = any();
    }
    sums = to_json(StallTotals());
    for (auto& [name, value] : sums.items()) {
      if (value.is_number_float()) value = any();
    }
    INFO(row.dump() << " " << sums.dump());
    const RunTotals run = read_history_row(row).run;
    const bool is_told = run.wall_s && *run.wall_s > 0;
    REQUIRE(sum_of(share_texts(run)) == (is_told ? 1000 : 0));
    REQUIRE(stalled_s(run).value_or(0) <=
            run.wall_s.value_or(std::numeric_limits<double>::infinity()));
    const StallTotals totals = read_stall_totals(sums);
    REQUIRE(sum_of(share_texts(totals)) <= 1000);
  }
}

TEST_CASE("the verdict names the largest stall of at least 5%") {
  RunTotals run{.wall_s = 100, .waited_s = 30};
  run.parts_s.fetch_stall = 20;
  run.parts_s.prep_stall = 10;
  CHECK(verdict_word(run) == "fetch");
  run.parts_s.prep_stall = 21;
  CHECK(verdict_word(run) == "prep");
  run.parts_s.exchange_stall = 22;
  CHECK(verdict_word(run) == "exchange");
  run.parts_s.fetch_stall = run.parts_s.prep_stall = std::nullopt;
  CHECK(verdict_word(run) == "data");  // waits of unknown cause
  run = {.wall_s = 100,
         .parts_s = {.compute = 60, .prep_stall = 4.9},
         .waited_s = 4.9};
  CHECK(verdict_word(run) == "compute");
  run.parts_s.compute = 40;
  CHECK(verdict_word(run) == "other");
  run.parts_s.prep_stall = run.waited_s = 5;
  CHECK(verdict_word(run) == "prep");
}

TEST_CASE("verdicts without the job's own report are marked") {
  CHECK(verdict_word({.wall_s = 100, .parts_s = {.prep_stall = 40}}) ==
        "prep?");
  CHECK(verdict_word({.wall_s = 100, .parts_s = {.prep_stall = 0}}) ==
        "other?");
  CHECK(verdict_word({}) == "unknown");
  CHECK(verdict_word({.wall_s = 100, .parts_s = {.compute = 90}}) == "unknown");
  CHECK(verdict_word({.wall_s = 0, .waited_s = 0}) == "unknown");
}

}  // namespace
}  // namespace penstock
