#include "tools/simulate/trace.h"

#include <string>

#include "tests/unit/catch.h"

namespace penstock::simulate {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;

constexpr const char* kProfiles = R"({
  "cpu_per_gpu_axis": [1, 2, 4], "mem_gb_per_gpu_axis": [20, 62.5],
  "models": {"net": {"ideal_cpu_per_gpu": 4, "ideal_mem_gb_per_gpu": 20,
    "iter_time_s_at_fair": 0.5, "speedup_ideal_over_fair": 1.5,
    "tput": [[0.1, 0.25], [0.1, 1], [0.1, 1.5]]}}})";

constexpr const char* kMuri =
    "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,"
    "interval,iteration_time,resource_time_0,resource_time_1,resource_time_2,"
    "priority\n";

TraceOptions synergy() {
  TraceOptions options;
  options.profiles_json = kProfiles;
  return options;
}

TEST_CASE("a line of a Synergy trace becomes a job with its measured curve") {
  const auto jobs = parse_trace("7,net,1.5,300,2\n", synergy());
  REQUIRE(jobs);
  const TraceJob& job = jobs->at(0);
  CHECK(job.id == 8);  // 0 is no id
  CHECK(job.arrival_s == 1.5);
  CHECK(job.iterations == 300);
  CHECK(job.gpus == 2);
  CHECK(job.fair_rate == 2);
  CHECK(job.ceiling == 3);
  CHECK(job.full.speedup == 1.5);
  CHECK(ceiling_cores(job) == 4);
}

TEST_CASE("rates between measured points are interpolated linearly") {
  const auto jobs = parse_trace("7,net,1.5,300,2\n", synergy());
  REQUIRE(jobs);
  const TraceJob& job = jobs->at(0);
  CHECK(measured_rate(job, 0) == 0);
  CHECK_THAT(measured_rate(job, 0.5), WithinRel(0.25));
  CHECK_THAT(measured_rate(job, 2), WithinRel(2.0));
  CHECK_THAT(measured_rate(job, 3), WithinRel(2.5));
  CHECK(measured_rate(job, 100) == 3);
}

TEST_CASE("a line of a Muri trace becomes a job with a linear curve") {
  TraceOptions options;
  options.core_scale = 3;
  const auto jobs = parse_trace(
      std::string(kMuri) + "4,16,2000,50,net,128,1,1,1,700,100,25,0\n",
      options);
  REQUIRE(jobs);
  const TraceJob& job = jobs->at(0);
  CHECK(job.arrival_s == 2);
  CHECK_THAT(job.ceiling, WithinRel(8.0));
  CHECK_THAT(ceiling_cores(job), WithinRel(16.8));
}

TEST_CASE("models can be excluded and the number of jobs limited") {
  TraceOptions options = synergy();
  options.max_jobs = 1;
  CHECK(parse_trace("1,net,0,3,1\n2,net,0,3,1\n", options)->size() == 1);
  options.left_out_models = {"net"};
  CHECK_THAT(parse_trace("1,net,0,3,1\n", options).error().message,
             ContainsSubstring("no jobs"));
}

TEST_CASE("an invalid trace is an error with its line") {
  const struct {
    std::string text;
    const char* message;
  } cases[] = {
      {"1,net,0,3,1\n1,net,0,3\n", "line 2: 4 fields, must be 5"},
      {"1,net,x,3,1\n", "line 1: arrival_s is 'x'"},
      {"1,net,0,0,1\n",
       "line 1: iterations is '0', must be a number from 1 to "
       "1000000000000000"},
      {"1,net,0,3,0\n", "line 1: gpus is '0'"},
      {"1,net,0,3,1e9\n", "line 1: gpus is '1e9'"},
      {"1,net,0,3,1.5\n", "line 1: gpus is '1.5', must be a whole number"},
      {"1,net,0,3,1\n2,net,0,3,1\n1,net,9,3,1\n",
       "line 3: job 1 exists already"},
      {"1,net,0,nan,1\n", "line 1: iterations is 'nan'"},
      {"1,other,0,3,1\n", "line 1: model 'other' is not in the profiles"},
      {std::string(kMuri) + "1,1,0,5\n", "line 2: 4 fields, must be 13"},
      {std::string(kMuri) + "1,1,0,5,net,1,1,1,1,-1,1,0,0\n",
       "line 2: resource_time_0 is '-1'"},
      {std::string(kMuri) + "1,1,0,5,net,1,1,1,1,1,0,0,0\n",
       "line 2: resource_time_1 and _2 are both 0"},
      {"", "no jobs"},
  };
  for (const auto& it : cases) {
    const auto jobs = parse_trace(it.text, synergy());
    INFO(it.text);
    REQUIRE(!jobs);
    CHECK_THAT(jobs.error().message, ContainsSubstring(it.message));
  }
}

TEST_CASE("invalid profiles are an error with the cause") {
  TraceOptions options;
  CHECK_THAT(parse_trace("1,net,0,3,1\n", options).error().message,
             ContainsSubstring("--profiles FILE"));
  options.profiles_json = "{";
  CHECK_THAT(parse_trace("1,net,0,3,1\n", options).error().message,
             ContainsSubstring("profiles: "));
  options.profiles_json = R"({"cpu_per_gpu_axis": [1]})";
  CHECK_THAT(parse_trace("1,net,0,3,1\n", options).error().message,
             ContainsSubstring("mem_gb_per_gpu_axis"));
  const auto with = [](std::string from, const char* to) {
    std::string json = kProfiles;
    return json.replace(json.find(from), from.size(), to);
  };
  options.profiles_json = with("[1, 2, 4]", "[1, 4, 2]");
  CHECK_THAT(parse_trace("1,net,0,3,1\n", options).error().message,
             ContainsSubstring("cpu_per_gpu_axis must ascend"));
  options.profiles_json = with("0.5", "0");
  CHECK_THAT(parse_trace("1,net,0,3,1\n", options).error().message,
             ContainsSubstring("profiles: net: iter_time_s_at_fair"));
  options.profiles_json = kProfiles;
  options.memory_gb_per_gpu = 99;
  CHECK_THAT(parse_trace("1,net,0,3,1\n", options).error().message,
             ContainsSubstring("no column for 99 GB per GPU"));
}

}  // namespace
}  // namespace penstock::simulate
