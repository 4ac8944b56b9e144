#include "report/summary.h"

#include <nlohmann/json.hpp>

#include "samples.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

nlohmann::json of(const JobReport& report) {
  const std::string text = summary_json(report);
  CHECK(text.size() <= kMaxSummaryBytes);
  CHECK(text.find_first_of("\n'") == std::string::npos);
  for (const char c : text) CHECK((c >= ' ' && c <= '~'));
  const auto json = nlohmann::json::parse(text);
  REQUIRE(json.size() == 1);
  return json.at("penstock");
}

}  // namespace

TEST_CASE("the summary has the verdict and the first advice") {
  const nlohmann::json it = of(samples::input_bound());
  CHECK(it["v"] == 1);
  CHECK(it["running"] == false);
  CHECK(it["verdict"] ==
        "Input-bound: 31% of step time waits for data (fetch 22%, prep 9%)");
  CHECK(it["waited"] == 0.31);
  CHECK(it["advice"]["lines"].size() >= 1);
  CHECK(it["samples_per_s"].is_number());
}

TEST_CASE("what is not known is null") {
  const nlohmann::json it = of(JobReport{});
  CHECK(it["waited"].is_null());
  CHECK(it["samples_per_s"].is_null());
  CHECK(it["lent_gain"].is_null());
  CHECK(it["advice"].is_null());
  CHECK(it["mistakes"].empty());
}

TEST_CASE("mistakes are named") {
  JobReport report = samples::input_bound();
  report.launch_problems = samples::unknown().launch_problems;
  CHECK(of(report)["mistakes"][0] == "step_cpus");
}

TEST_CASE("a summary fits, whatever the job") {
  for (JobReport report : {samples::wasteful(), samples::exchange_bound(),
                           samples::unknown(), samples::hostile()}) {
    of(report);
    report.recommend_after_s = 0;
    report.bandwidth.pool = std::string(256, 'x');
    of(report);
  }
  JobReport many = samples::input_bound();
  many.launch_problems.assign(
      kLaunchFaultCount, {LaunchFault::kStepCpus, {}, std::string(256, '\xff')});
  of(many);
}

}  // namespace penstock
