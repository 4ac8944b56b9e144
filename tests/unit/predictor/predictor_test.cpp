#include "predictor/predictor.h"

#include <cmath>
#include <limits>

#include "predictor/arrival.h"
#include "predictor/arrival_parameters.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

Profile simple_profile() {
  Profile profile;
  profile.name = "simple";
  profile.accelerator_s_per_sample = 0.01;  // 100 samples/s
  profile.loader_cpu_s_per_sample = 0.04;
  profile.trainer_cpu_s_per_sample = 0.002;
  profile.bytes_per_sample = 1000;
  profile.relative_error = 0.2;
  return profile;
}

TEST_CASE("ceiling and demand follow from the costs") {
  const auto prediction = predict(simple_profile());
  REQUIRE(prediction);
  CHECK(prediction->ceiling_samples_per_s.value == Approx(100));
  CHECK(prediction->ceiling_samples_per_s.low == Approx(80));
  CHECK(prediction->ceiling_samples_per_s.high == Approx(120));
  CHECK(prediction->demand_cores.value == Approx(4));
  CHECK(prediction->demand_cores.low == Approx(80 * 0.032));
  CHECK(prediction->demand_cores.high == Approx(120 * 0.048));
  CHECK(prediction->demand_bytes_per_s.value == Approx(100000));
  CHECK(prediction->trainer_reserve_cores == Approx(0.2));
  CHECK(prediction->basis == "profile simple");
}

TEST_CASE("a described job is predicted without measured costs") {
  Profile profile;
  profile.name = "mine";
  profile.job.model = "resnet50";
  profile.job.precision = Precision::kHalf;
  profile.job.batch_per_gpu = 128;
  profile.bytes_per_sample = 110e3;
  profile.cpu_class = "jpeg";
  const auto without_gpu = predict(profile);
  REQUIRE_FALSE(without_gpu);
  CHECK(without_gpu.error().message.starts_with("gpu: missing"));
  profile.job.gpu = "abacus";
  REQUIRE_FALSE(predict(profile));

  profile.job.gpu = "V100-SXM-16GB";
  const auto prediction = predict(profile);
  REQUIRE(prediction);
  const Figure rate =
      rate_per_gpu(describe(profile.job), *builtin_parameters());
  CHECK(prediction->ceiling_samples_per_s.value == rate.value);
  CHECK(prediction->ceiling_samples_per_s.low == rate.low);
  CHECK(prediction->ceiling_samples_per_s.high == rate.high);
  CHECK(prediction->loader_cpu_s_per_sample.value == Approx(110e3 * 41e-9));
  CHECK(prediction->demand_cores.value == Approx(rate.value * 110e3 * 41e-9));
  CHECK(prediction->demand_bytes_per_s.value == Approx(rate.value * 110e3));
  CHECK(prediction->basis == "profile mine, given/known");
  // The exchange of 16 GPUs lowers the rate of each.
  profile.job.gpus = 16;
  profile.job.nodes = 2;
  CHECK(predict(profile)->ceiling_samples_per_s.value < rate.value);
}

TEST_CASE("cached samples cause no storage demand") {
  Profile profile = simple_profile();
  profile.cached_share = 0.75;
  CHECK(predict(profile)->demand_bytes_per_s.value == Approx(25000));
  profile.cached_share = 1;
  const auto cached = predict(profile);
  CHECK(cached->demand_bytes_per_s.known());
  CHECK(cached->demand_bytes_per_s.value == 0);
}

TEST_CASE("zero and unknown are distinguished") {
  Profile profile;
  profile.accelerator_s_per_sample = 0.01;
  const auto prediction = predict(profile);
  REQUIRE(prediction);
  CHECK(prediction->ceiling_samples_per_s.known());
  CHECK_FALSE(prediction->loader_cpu_s_per_sample.known());
  CHECK_FALSE(prediction->demand_cores.known());
  CHECK_FALSE(prediction->storage_bytes_per_sample.known());
  CHECK_FALSE(prediction->demand_bytes_per_s.known());
  CHECK_FALSE(Figure{}.known());
}

TEST_CASE("a measured curve gives the cores that the ceiling needs") {
  Profile profile = simple_profile();
  profile.rate_at_cores = {30, 60, 90, 110};
  // 90 at 3 cores, 110 at 4: 100 lies in the middle.
  CHECK(predict(profile)->demand_cores.value == Approx(3.5));
  CHECK(predict(profile)->loader_cpu_s_per_sample.value == Approx(0.035));
  profile.rate_at_cores = {200};
  CHECK(predict(profile)->demand_cores.value == Approx(0.5));
  // A curve that ends below the ceiling is extended at its last cost.
  profile.rate_at_cores = {30, 50};
  CHECK(predict(profile)->demand_cores.value == Approx(4));
  // A dip does not count twice: the first crossing does.
  profile.rate_at_cores = {50, 100, 80, 120};
  CHECK(predict(profile)->demand_cores.value == Approx(2));
}

TEST_CASE("a curve with its own amounts of cores uses these") {
  Profile profile = simple_profile();
  profile.rate_at_cores = {30, 60, 90, 110};
  profile.cores = {0.25, 0.75, 1.25, 2};
  CHECK(predict(profile)->demand_cores.value == Approx(1.625));
  profile.rate_at_cores = {30, 50};
  profile.cores = {0.5, 1};
  CHECK(predict(profile)->demand_cores.value == Approx(2));
}

TEST_CASE("the built-in models need the cores that their source states") {
  const struct {
    const char* name;
    double cores;
  } rows[] = {{"alexnet", 12},   {"shufflenet", 12}, {"res18", 9},
              {"m5", 6},         {"mobilenet", 6},   {"res50", 4},
              {"deepspeech", 3}, {"transformer", 1}, {"gnmt", 1},
              {"lstm", 1}};
  for (const auto& row : rows) {
    CAPTURE(row.name);
    CHECK(predict(*builtin_profile(row.name))->demand_cores.value ==
          Approx(row.cores));
  }
}

TEST_CASE("a profile outside the allowed ranges is refused by field") {
  const double nan = std::nan("");
  const double infinite = std::numeric_limits<double>::infinity();
  struct Row {
    const char* field;
    double Profile::*member;
    double value;
  };
  const Row rows[] = {
      {"accelerator_s_per_sample", &Profile::accelerator_s_per_sample, 0},
      {"accelerator_s_per_sample", &Profile::accelerator_s_per_sample, nan},
      {"accelerator_s_per_sample", &Profile::accelerator_s_per_sample, -1},
      {"loader_cpu_s_per_sample", &Profile::loader_cpu_s_per_sample, -1},
      {"loader_cpu_s_per_sample", &Profile::loader_cpu_s_per_sample, nan},
      {"trainer_cpu_s_per_sample", &Profile::trainer_cpu_s_per_sample,
       infinite},
      {"bytes_per_sample", &Profile::bytes_per_sample, -1},
      {"cached_share", &Profile::cached_share, 1.5},
      {"relative_error", &Profile::relative_error, 1},
  };
  for (const Row& row : rows) {
    Profile profile = simple_profile();
    profile.*row.member = row.value;
    CAPTURE(row.field, row.value);
    const auto prediction = predict(profile);
    REQUIRE_FALSE(prediction);
    CHECK(prediction.error().code == Code::kInvalidArgument);
    CHECK(prediction.error().message.starts_with(row.field));
  }
  Profile profile = simple_profile();
  profile.rate_at_cores = {10, 20};
  for (const std::vector<double>& cores :
       {std::vector<double>{1}, {0, 1}, {2, 1}, {1, 1}}) {
    profile.cores = cores;
    CHECK_FALSE(predict(profile));
  }
  profile.cores.clear();
  profile.rate_at_cores = {10, 0};
  CHECK_FALSE(predict(profile));
}

}  // namespace
}  // namespace penstock
