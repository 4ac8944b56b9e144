#include "predictor/two_points.h"

#include <cmath>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

constexpr IterationTime kTrue{0.02, 0.001};

TEST_CASE("without points the prediction and its deviation are kept") {
  const MeasuredIteration it(kTrue, 0.35, {});
  CHECK(it.at(64).seconds == Approx(kTrue.at(64)));
  CHECK(it.at(64).log_sd > 0.35);
}

TEST_CASE("two points determine both parts, whatever the prediction") {
  for (double wrong_fixed : {0.1, 1.0, 5.0}) {
    for (double wrong_sample : {0.3, 1.0, 3.0}) {
      const IterationTime prior{kTrue.fixed_s * wrong_fixed,
                                kTrue.sample_s * wrong_sample};
      const MeasuredIteration it(prior, 0.5,
                                 {{16, kTrue.at(16)}, {128, kTrue.at(128)}});
      for (double batch : {16.0, 32.0, 64.0, 128.0}) {
        INFO(wrong_fixed << ' ' << wrong_sample << ' ' << batch);
        CHECK(it.at(batch).seconds == Approx(kTrue.at(batch)).epsilon(0.03));
      }
      // The noise of a time is 0.05; the estimate adds at most as much.
      CHECK(it.at(16).log_sd <= 0.0708);  // sqrt(2) x 0.05
      CHECK(it.at(128).log_sd <= 0.0708);
      // Times are not exactly linear: the deviation grows away from the points.
      CHECK(it.at(32).log_sd > 1.3 * it.at(16).log_sd);
      CHECK(it.at(512).log_sd > it.at(256).log_sd);
    }
  }
}

TEST_CASE("one point scales the whole prediction") {
  const IterationTime prior{kTrue.fixed_s * 2, kTrue.sample_s * 2};
  const MeasuredIteration it(prior, 0.5, {{64, kTrue.at(64)}});
  CHECK(it.at(64).seconds == Approx(kTrue.at(64)).epsilon(0.01));
  const double other = it.at(512).seconds;
  CHECK(other == Approx(kTrue.at(512)).epsilon(0.2));
  CHECK(it.at(512).log_sd > it.at(64).log_sd);
}

}  // namespace
}  // namespace penstock
