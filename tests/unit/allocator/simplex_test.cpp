#include "select_ext/allocator/simplex.h"

#include "tests/unit/catch.h"

namespace penstock::allocator {
namespace {

PackingLp::Column column(double gain, double use0, double use1 = 0) {
  return {gain, {0, 1, 1}, {use0, use1, 0}};
}

TEST_CASE("columns that fit together are all full") {
  const auto result = maximise({1, {column(1, 0.3), column(5, 0.4)}}, 100);
  REQUIRE(result);
  CHECK(*result == std::vector<double>{1, 1});
}

TEST_CASE("without rows everything is full") {
  const auto result = maximise({0, {{1, {}, {}}, {2, {}, {}}}}, 100);
  REQUIRE(result);
  CHECK(*result == std::vector<double>{1, 1});
}

TEST_CASE("without columns there is nothing to do") {
  const auto result = maximise({2, {}}, 0);
  REQUIRE(result);
  CHECK(result->empty());
}

TEST_CASE("the best gain per use goes first, the last one in part") {
  const auto result =
      maximise({1, {column(1, 0.8), column(3, 0.6), column(1, 0.5)}}, 100);
  REQUIRE(result);
  CHECK((*result)[1] == 1);
  CHECK((*result)[2] == Approx(0.8));  // 2 per unit against 1.25
  CHECK((*result)[0] == 0);
}

TEST_CASE("two rows meet in a vertex") {
  // x/1 + y/3 <= 1 and x/3 + y/1 <= 1 bind together at 3/4 each.
  const auto result =
      maximise({2, {column(1, 1, 1.0 / 3), column(1, 1.0 / 3, 1)}}, 100);
  REQUIRE(result);
  CHECK((*result)[0] == Approx(0.75).epsilon(1e-12));
  CHECK((*result)[1] == Approx(0.75).epsilon(1e-12));
}

TEST_CASE("entries of one row add up") {
  const auto result = maximise({1, {{1, {0, 0, 0}, {1, 0.5, 0.5}}}}, 100);
  REQUIRE(result);
  CHECK((*result)[0] == Approx(0.5));
}

// Many equal columns and rows that bind at the same vertex: each step may
// make no progress, and none may be repeated for ever.
TEST_CASE("a fully degenerate program ends at its optimum") {
  PackingLp lp{6, {}};
  for (int i = 0; i < 60; ++i) {
    lp.columns.push_back({1, {i % 6, (i + 1) % 6, (i + 2) % 6}, {1, 1, 1}});
  }
  const auto result = maximise(lp, 10000);
  REQUIRE(result);
  double sum = 0;
  for (double value : *result) sum += value;
  CHECK(sum == Approx(2).epsilon(1e-12));  // 6 units of rows, 3 per column
}

// Twelve pieces of five jobs, four rows. A row that does not bind has a price
// of 0, which comes out as some 1e-17 where terms cancel; taken for a profit,
// it made two slacks enter in turn for ever.
TEST_CASE("a price that is only rounding lets nothing enter") {
  const double cores = 1 / 239.0;
  const double ingest = 1 / 421.0;
  PackingLp lp{4, {}};
  for (double use : {36, 48, 60}) {
    lp.columns.push_back(
        {0.5, {0, 1, 2}, {use * cores, 72 * ingest, 9 / 32.0}});
  }
  for (double part : {1, 2, 1}) {
    lp.columns.push_back(
        {part * 2 / 3,
         {0, 1, 2},
         {part * 2 * cores, part * 12 * ingest, part * 3 / 64}});
  }
  for (double use : {24, 36, 24}) {
    lp.columns.push_back(
        {0.25, {0, 1, 3}, {use * cores, 36 * ingest, 12 / 35.0}});
  }
  for (double use : {4, 4, 8}) {
    lp.columns.push_back({2 / 7.0, {0, 1, 1}, {use * cores, 24 * ingest, 0}});
  }
  const auto result = maximise(lp, 1000);
  REQUIRE(result);
  double gain = 0;
  for (size_t i = 0; i < lp.columns.size(); ++i) {
    gain += lp.columns[i].gain * (*result)[i];
  }
  CHECK(gain == Approx(5.6140873015873).epsilon(1e-12));  // Clp's, too
}

TEST_CASE("pivots that run out are an error") {
  const auto result = maximise({1, {column(1, 1)}}, 0);
  REQUIRE(!result);
  CHECK(result.error().code == Code::kLimit);
  CHECK(result.error().message == "simplex: pivots ran out");
}

}  // namespace
}  // namespace penstock::allocator
