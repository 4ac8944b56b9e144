#include "predictor/roofline.h"

#include <cmath>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

JobFeatures resnet50() {
  JobFeatures job;
  job.model = "resnet50";
  job.gpu = "A100-SXM-40GB";
  job.precision = Precision::kHalf;
  job.batch_per_gpu = 128;
  return job;
}

// With every learned factor at 1.
std::vector<double> bare_terms(const JobFeatures& job) {
  return roofline_input(describe(job)).bases;
}

TEST_CASE("a described job takes its missing values from the tables") {
  const DescribedJob listed = describe(resnet50());
  CHECK(listed.costs == Costs::kListed);
  CHECK(listed.job.fwd_gflops_per_sample == 8.22);
  CHECK(listed.job.activations_m == 11.11);
  CHECK(listed.job.params_m == 25.56);
  CHECK(listed.job.family == "resnet");
  CHECK(listed.job.unit == "images");
  CHECK(listed.batch == 128);
  CHECK(listed.gpu.half_tflops == 312);

  JobFeatures own = resnet50();
  own.fwd_gflops_per_sample = 3;
  own.params_m = 7;
  const DescribedJob given = describe(own);
  CHECK(given.costs == Costs::kGiven);
  CHECK(given.job.fwd_gflops_per_sample == 3);
  CHECK(given.job.params_m == 7);
  CHECK(given.job.activations_m == 0);

  JobFeatures nobody = resnet50();
  nobody.model = "My-Net";
  nobody.batch_per_gpu = 0;
  const DescribedJob guessed = describe(nobody);
  CHECK(guessed.costs == Costs::kGuessed);
  CHECK(guessed.job.fwd_gflops_per_sample > 0);
  CHECK(guessed.job.params_m > 0);
  CHECK(guessed.job.family == "mynet");
  CHECK(guessed.batch > 0);
}

TEST_CASE("the four terms match their formulas") {
  const std::vector<double> terms = bare_terms(resnet50());
  REQUIRE(terms.size() == kRooflineTerms);
  CHECK(std::exp(terms[kCompute]) == Approx(3 * 8.22e9 / 312e12));
  CHECK(std::exp(terms[kMemory]) == Approx(48 * 11.11e6 / 1555e9));
  CHECK(std::exp(terms[kOverhead]) == Approx(5e-3 / 128));
  CHECK(std::exp(terms[kParameters]) == Approx(32 * 25.56e6 / 1555e9 / 128));
}

TEST_CASE("the batch divides the costs of an iteration only") {
  JobFeatures job = resnet50();
  const auto large = bare_terms(job);
  job.batch_per_gpu = 32;
  const auto small = bare_terms(job);
  CHECK(small[kCompute] == large[kCompute]);
  CHECK(small[kMemory] == large[kMemory]);
  CHECK(small[kOverhead] - large[kOverhead] == Approx(std::log(4.0)));
  CHECK(small[kParameters] - large[kParameters] == Approx(std::log(4.0)));
}

TEST_CASE("a GPU type without an entry uses its own peaks") {
  GpuType own;
  own.name = "X1";
  own.half_tflops = own.fp32_tflops = 624;
  own.memory_gbs = 3110;
  JobFeatures job = resnet50();
  job.gpu = "X1";
  const auto terms = roofline_input(describe(job, &own)).bases;
  const auto half = bare_terms(resnet50());
  CHECK(half[kCompute] - terms[kCompute] == Approx(std::log(2.0)));
  CHECK(half[kMemory] - terms[kMemory] == Approx(std::log(2.0)));
}

TEST_CASE("a job has the effects of its levels") {
  const auto has = [](const JobFeatures& job, const std::string& level) {
    const auto effects = roofline_input(describe(job)).effects;
    return std::count(effects.begin(), effects.end(), level) == 1;
  };
  JobFeatures job = resnet50();
  CHECK(has(job, "gpu:A100-SXM-40GB"));
  CHECK(has(job, "architecture:ampere/half"));
  CHECK(has(job, "family:resnet"));
  CHECK(has(job, "software:pytorch"));
  CHECK(has(job, "model:resnet50/pytorch"));
  CHECK_FALSE(has(job, "guessed:/"));
  CHECK(has(job, "listed:images"));
  CHECK(has(job, "listed_family:resnet"));
  job.model = "my-net";
  job.task = "speech";
  job.unit = "tokens";
  CHECK(has(job, "guessed:speech/tokens"));
  CHECK(has(job, "guessed_family:mynet"));
}

TEST_CASE("features and bases match the form") {
  const LogSumForm& form = roofline_form();
  CHECK(form.terms == kRooflineTerms);
  const LogSumInput input = roofline_input(describe(resnet50()));
  CHECK(input.features.size() == form.coefficients.size());
  for (const Coefficient& it : form.coefficients) {
    INFO(it.name);
    CHECK(it.sd > 0);
    CHECK(it.term >= 0);
    CHECK(it.term < form.terms);
  }
}

}  // namespace
}  // namespace penstock
