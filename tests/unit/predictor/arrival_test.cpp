#include "predictor/arrival.h"

#include <cmath>

#include "predictor/arrival_parameters.h"
#include "predictor/exchange.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

JobFeatures resnet50(const std::string& gpu = "A100-SXM-40GB") {
  JobFeatures job;
  job.model = "resnet50";
  job.gpu = gpu;
  job.precision = Precision::kHalf;
  job.batch_per_gpu = 128;
  return job;
}

// Parameters learned from one family and one GPU type only.
ArrivalParameters of_priors() {
  ArrivalParameters out;
  for (const Coefficient& it : roofline_form().coefficients) {
    out.roofline.coefficients.push_back(it.mean);
  }
  for (const Coefficient& it : exchange_form().coefficients) {
    out.one_node.coefficients.push_back(it.mean);
  }
  out.many_nodes = out.one_node;
  out.roofline.effects = {{"family:resnet", 0.0}, {"gpu:T4", 0.0}};
  out.intervals = {{"given/known", {-0.1, 0.2}},
                   {"given/new_gpu", {-0.3, 0.4}},
                   {"one_node", {-0.4, 0.3}}};
  return out;
}

TEST_CASE("a job's kind names the source of its costs and what is new") {
  const ArrivalParameters learned = of_priors();
  CHECK(kind_of(describe(resnet50("T4")), learned) == "given/known");
  CHECK(kind_of(describe(resnet50()), learned) == "given/new_gpu");
  JobFeatures job = resnet50("T4");
  job.model = "vgg16";
  CHECK(kind_of(describe(job), learned) == "given/new_family");
  job.model = "my-net";
  job.gpu = "X1";
  CHECK(kind_of(describe(job), learned) == "guessed/new_both");
  job.model = "googlenet";
  CHECK(kind_of(describe(job), learned) == "listed/new_both");
  job.fwd_gflops_per_sample = 1;
  CHECK(kind_of(describe(job), learned) == "given/new_both");
}

TEST_CASE("the rate is batch over time, with the interval of the job's kind") {
  const ArrivalParameters learned = of_priors();
  const DescribedJob described = describe(resnet50());
  const IterationTime time = one_gpu_time(described, learned.roofline);
  CHECK(time.fixed_s > 0);
  CHECK(time.sample_s > 0);
  const Figure rate = rate_per_gpu(described, learned);
  CHECK(rate.value == Approx(128 / time.at(128)));
  CHECK(rate.low == Approx(rate.value * std::exp(-0.3)));
  CHECK(rate.high == Approx(rate.value * std::exp(0.4)));
}

TEST_CASE("without a calibration the interval is a factor of ten") {
  ArrivalParameters learned = of_priors();
  learned.intervals.clear();
  const Figure rate = rate_per_gpu(describe(resnet50()), learned);
  CHECK(rate.high / rate.value == Approx(std::exp(2.3)));
  CHECK(rate.value / rate.low == Approx(std::exp(2.3)));
}

TEST_CASE("several GPUs add the exchange and its error") {
  const ArrivalParameters learned = of_priors();
  const Figure one = rate_per_gpu(describe(resnet50()), learned);
  JobFeatures job = resnet50();
  job.gpus = 8;
  const Figure eight = rate_per_gpu(describe(job), learned);
  CHECK(eight.value < one.value);
  CHECK(eight.low / eight.value == Approx(std::exp(-0.5)));  // 0.3, 0.4
  CHECK(eight.high / eight.value == Approx(std::exp(0.5)));  // 0.4, 0.3
  const IterationTime time =
      job_time(describe(job), learned.roofline, learned.one_node);
  CHECK(128 / time.at(128) == Approx(eight.value));
}

TEST_CASE("demand is the ceiling times the cost of a sample") {
  const ArrivalParameters learned = of_priors();
  LoaderCosts costs;
  costs.cpu_s_per_sample = *loader_cpu_s("jpeg", 110e3);
  costs.bytes_per_sample = 110e3;
  costs.bytes_known = true;
  const Prediction it = predict_arrival(describe(resnet50()), costs, learned);
  const Figure& ceiling = it.ceiling_samples_per_s;
  CHECK(it.basis == "arrival, given/new_gpu");
  CHECK(it.demand_bytes_per_s.value == Approx(ceiling.value * 110e3));
  CHECK(it.demand_bytes_per_s.high == Approx(ceiling.high * 110e3));
  CHECK(it.demand_cores.value == Approx(ceiling.value * 110e3 * 41e-9));
  CHECK(it.demand_cores.low < it.demand_cores.value);
  const Prediction bare =
      predict_arrival(describe(resnet50()), LoaderCosts{}, learned);
  CHECK_FALSE(bare.demand_cores.known());
  CHECK_FALSE(bare.demand_bytes_per_s.known());
}

TEST_CASE("CPU costs follow the class, and unknown classes are refused") {
  const auto jpeg = loader_cpu_s("jpeg", 55e3);
  REQUIRE(jpeg);
  CHECK(jpeg->value == Approx(2.24e-3).epsilon(0.02));  // as measured
  CHECK(jpeg->low < jpeg->value);
  CHECK(jpeg->high > jpeg->value);
  CHECK(loader_cpu_s("raw", 55e3)->value < jpeg->value);
  const auto refused = loader_cpu_s("magic", 1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kNotFound);
  CHECK(refused.error().message == "unknown class; allowed: raw, jpeg");
}

}  // namespace
}  // namespace penstock
