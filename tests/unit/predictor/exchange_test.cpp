#include "predictor/exchange.h"

#include <cmath>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

constexpr double kAloneS = 0.1;

JobFeatures job_on(int gpus, int nodes) {
  JobFeatures job;
  job.model = "resnet50";
  job.gpu = "A100-SXM-40GB";
  job.batch_per_gpu = 64;
  job.gpus = gpus;
  job.nodes = nodes;
  return job;
}

// Uses the prior's means as learned parameters.
double iteration_s(const JobFeatures& job) {
  LogSumParameters learned;
  for (const Coefficient& it : exchange_form().coefficients) {
    learned.coefficients.push_back(it.mean);
  }
  return several_gpus_s(describe(job), kAloneS, learned);
}

TEST_CASE(
    "the base of an exchange is a ring's bytes over the link's bandwidth") {
  const LogSumInput input = exchange_input(describe(job_on(8, 1)), kAloneS);
  REQUIRE(input.bases.size() == static_cast<size_t>(exchange_form().terms));
  CHECK(input.features.size() == exchange_form().coefficients.size());
  CHECK(std::exp(input.bases[0]) == Approx(kAloneS));
  // 2 (P - 1) / P x 4 bytes x parameters at 300 GB/s each way.
  CHECK(std::exp(input.bases[1]) == Approx(2 * 7.0 / 8 * 4 * 25.56e6 / 300e9));
  const LogSumInput pcie = exchange_input(describe([] {
                                            JobFeatures job = job_on(8, 1);
                                            job.gpu = "T4";
                                            return job;
                                          }()),
                                          kAloneS);
  CHECK(std::exp(pcie.bases[1]) == Approx(2 * 7.0 / 8 * 4 * 25.56e6 / 16e9));
}

TEST_CASE("an iteration takes longer with more GPUs") {
  double last = kAloneS;
  for (int gpus : {2, 4, 8, 16}) {
    const double time = iteration_s(job_on(gpus, 1));
    INFO(gpus);
    CHECK(time > last);
    last = time;
  }
  CHECK(iteration_s(job_on(16, 2)) > last);
}

TEST_CASE("a faster network shortens iterations across nodes only") {
  JobFeatures slow = job_on(16, 2), fast = slow;
  slow.network_gbs = 1;
  fast.network_gbs = 100;
  CHECK(iteration_s(fast) < iteration_s(slow));
  slow.nodes = fast.nodes = 1;
  CHECK(iteration_s(fast) == iteration_s(slow));
}

}  // namespace
}  // namespace penstock
