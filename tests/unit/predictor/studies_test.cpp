#include "predictor/studies.h"

#include "tests/unit/predictor/measured_sample.h"

namespace penstock {
namespace {

void no_progress(size_t, size_t) {}

const StudyScore* find(const std::vector<StudyScore>& scores,
                       const std::string& name) {
  for (const StudyScore& it : scores) {
    if (it.name == name) return &it;
  }
  return nullptr;
}

TEST_CASE("a score has quantiles of errors, coverage and width") {
  StudyScore score;
  score.errors = {0.4, 0.1, 0.3, 0.2};
  score.widths = {2, 4, 3, 3};
  score.covered = 3;
  score.weight = 4;
  CHECK(score.error_at(0.5) == 0.2);
  CHECK(score.error_at(0.9) == 0.4);
  CHECK(score.coverage() == 0.75);
  CHECK(score.width() == 3);
  score.weights = {10, 1, 1, 1};
  CHECK(score.error_at(0.5) == 0.4);
}

TEST_CASE("left-out studies of synthetic rows are precise") {
  const auto rows = made_rows();
  const auto scores = score_left_out(rows, calibrate(rows, no_progress));
  for (const char* name : {"family", "one_node", "two_points",
                           "two_points_nearest", "two_points_many"}) {
    INFO(name);
    const StudyScore* it = find(scores, name);
    REQUIRE(it);
    CHECK_FALSE(it->errors.empty());
    CHECK(it->width() >= 1);
    CHECK(it->coverage() > 0.5);
    CHECK(it->error_at(0.5) < 0.15);
  }
  // One GPU type cannot be left out of one; all rows have FLOPs; none repeats.
  for (const char* name : {"gpu", "no_flops", "many_nodes", "repeats"}) {
    INFO(name);
    CHECK_FALSE(find(scores, name));
  }
}

TEST_CASE("new rows are scored by their new features") {
  const auto rows = made_rows();
  const ArrivalParameters learned = calibrate(rows, no_progress).parameters;
  auto fresh = rows;
  fresh[0].job.family = "new";
  fresh[2].job.gpu = "V100-SXM-16GB";
  fresh[4].job.family = "new";
  fresh[4].job.gpu = "V100-SXM-16GB";
  fresh[6].job.fwd_gflops_per_sample = 0;
  const auto scores = score_new_rows(fresh, learned);
  for (const char* name : {"family", "gpu", "both", "no_flops"}) {
    INFO(name);
    REQUIRE(find(scores, name));
    CHECK(find(scores, name)->errors.size() == 1);
  }
  REQUIRE(find(scores, "known"));
  CHECK(find(scores, "known")->errors.size() == 20);
  CHECK(find(scores, "known")->error_at(0.5) < 0.1);
  CHECK(find(scores, "one_node"));
}

TEST_CASE("repeated measurements give the noise") {
  auto rows = made_rows();
  rows.push_back(rows[0]);
  rows.back().samples_per_s *= 1.5;
  const auto scores =
      score_new_rows(rows, calibrate(rows, no_progress).parameters);
  const StudyScore* it = find(scores, "repeats");
  REQUIRE(it);
  REQUIRE(it->errors.size() == 2);
  CHECK(it->error_at(1) == Approx(0.25));  // against the median, 1.25
  CHECK(it->coverage() == 0);
}

}  // namespace
}  // namespace penstock
