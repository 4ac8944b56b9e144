// Simulates a cluster with a trace: jobs arrive, are placed, run at the rates
// of a policy, and end. Pure and deterministic.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/result.h"
#include "tools/simulate/policy.h"

namespace penstock::simulate {

// kFifo: by arrival. kSrtf: by remaining time at the fair rate, then arrival. A
// job that needs more GPUs than are free is skipped, and the next one is tried.
enum class Order { kFifo, kSrtf };

enum class Policy {
  kEven,
  kProportional,
  kGreedy,
  kTune,
  kPenstock,
  kCeiling,  // a bound: every job at its ceiling
  kPool,     // a bound: kPenstock with all nodes' cores as one node's
};

struct Options {
  ClusterSize size;
  // Length of a round. In each round all jobs are placed from scratch. A job
  // ends with the round that completes its iterations; only whole iterations
  // count, as in Synergy's simulator. 0: no rounds; jobs start when they fit,
  // are never moved, and end at any time.
  double round_s = 300;
  Placement placement = Placement::kPack;
  Policy policy = Policy::kPenstock;
  penstock::Policy objective = kDefaultPolicy;  // of kPenstock
  Order order = Order::kFifo;
  double prediction_error = 1;  // as in PenstockOptions
  uint64_t seed = 1;
};

// The policies that a user may name: the baselines, "penstock" with its default
// policy, and "penstock-NAME" with another one.
struct NamedPolicy {
  std::string name;
  Policy policy = Policy::kPenstock;
  penstock::Policy objective = kDefaultPolicy;
};
std::vector<NamedPolicy> named_policies();

struct JobOutcome {
  uint64_t id = 0;
  double start_s = 0;
  double end_s = 0;
  double jct_s = 0;  // end less arrival
};

// State of the cluster from `time_s` on.
struct Sample {
  double time_s = 0;
  double gpus_held = 0;  // shares of all GPUs
  double gpus_busy = 0;  // held x rate / ceiling
};

struct Outcome {
  std::vector<JobOutcome> jobs;  // in the trace's order
  std::vector<Sample> samples;
  double makespan_s = 0;  // from the first arrival
  double mean_jct_s = 0;
  double p95_jct_s = 0;
  double gpu_s_held = 0;
  double gpu_s_stalled = 0;      // held x (1 - rate / ceiling)
  double min_rate_vs_floor = 0;  // minimum over all jobs and times
};

// progress: called now and then with the share of ended jobs.
// Errors: kInvalidArgument  a job needs more GPUs than there are, or a Synergy
//                           policy lacks its profiles or rounds: names the
//                           job or the option
[[nodiscard]] Result<Outcome> simulate(
    const std::vector<TraceJob>& trace, const Options& options,
    const std::function<void(double)>& progress);

}  // namespace penstock::simulate
