#include "predictor/quantiles.h"

#include "tests/unit/catch.h"

namespace penstock {
namespace {

TEST_CASE(
    "quantiles are right for one value, and for unsorted and weighted ones") {
  CHECK(quantile({3}, 0.9) == 3);
  CHECK(quantile({5, 1, 3}, 0.5) == 3);
  CHECK(quantile({5, 1, 3}, 0.75) == 4);
  CHECK(quantile({5, 1, 3}, 1) == 5);
  CHECK(weighted_quantile({5, 1, 3}, {}, 0.5) == 3);
  CHECK(weighted_quantile({5, 1, 3}, {1, 10, 1}, 0.5) == 1);
  CHECK(weighted_quantile({5, 1, 3}, {10, 1, 1}, 0.5) == 5);
  CHECK(weighted_quantile({5, 1}, {1, 1}, 1) == 5);
}

}  // namespace
}  // namespace penstock
