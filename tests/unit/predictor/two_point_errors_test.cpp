#include "predictor/two_point_errors.h"

#include "tests/unit/predictor/measured_sample.h"

namespace penstock {
namespace {

PriorTime vague(const MeasuredRow&) { return {{0.02, 0.002}, 0.5}; }

TEST_CASE("every row is predicted from all pairs of other batches") {
  std::vector<MeasuredRow> rows;
  for (double batch : {8, 16, 32, 64}) {
    rows.push_back(made_row("a", batch, 1, 0.01, 0.002));
  }
  rows.push_back(made_row("b", 8, 1, 0.01, 0.002));  // alone
  rows.push_back(made_row("a", 8, 4, 0.01, 0.002));  // several GPUs
  const auto errors = two_point_errors(rows, false, vague);
  REQUIRE(errors.size() == 4 * 3);
  double weight = 0;
  int nearest = 0;
  for (const TwoPointError& it : errors) {
    weight += it.weight;
    nearest += it.nearest;
    CHECK(it.family == "a");
    CHECK(std::abs(it.error) < 0.1);  // the times are affine
    CHECK(it.log_sd > 0);
  }
  CHECK(weight == Approx(4));
  CHECK(nearest == 2);  // of 16 and of 32
  const auto affine = affine_residuals(rows, vague);
  REQUIRE(affine.size() == 4);
  for (const TwoPointError& it : affine) CHECK(std::abs(it.error) < 0.03);
  CHECK(two_point_errors(rows, true, vague).empty());
}

TEST_CASE("two rows of the same batch count as one point") {
  std::vector<MeasuredRow> rows = {made_row("a", 8, 1, 0.01, 0.002),
                                   made_row("a", 8, 1, 0.01, 0.002),
                                   made_row("a", 16, 1, 0.01, 0.002)};
  CHECK(two_point_errors(rows, false, vague).empty());
  rows.push_back(made_row("a", 32, 1, 0.01, 0.002));
  // 8 twice from 16 and 32; 16 and 32 from the other and either 8.
  CHECK(two_point_errors(rows, false, vague).size() == 2 + 2 + 2);
}

TEST_CASE("the scale excludes the given family") {
  std::vector<TwoPointError> errors;
  for (int i = -50; i <= 50; ++i) {
    errors.push_back({0, "a", 1, i / 50.0, 0.5, false});
    errors.push_back({0, "b", 1, i / 5.0, 0.5, false});
  }
  const LogInterval of_a = two_point_scale(errors, "b");
  CHECK(of_a.low == Approx(-1.8).margin(0.05));
  CHECK(of_a.high == Approx(1.8).margin(0.05));
  CHECK(two_point_scale(errors, "a").high == Approx(18).margin(0.5));
  CHECK(two_point_scale({}, "").high == Approx(1.645));
}

}  // namespace
}  // namespace penstock
