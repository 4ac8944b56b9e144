// A cluster driven by a trace: jobs arrive, are placed, run at the rates that a
// policy gives them, and end. Pure and deterministic.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/result.h"
#include "tools/simulate/policy.h"

namespace penstock::simulate {

// kFifo: by arrival. kSrtf: by what is left at the fair rate, then arrival. A
// job for which too few GPUs are free is passed over for the next.
enum class Order { kFifo, kSrtf };

enum class Policy {
  kEven,
  kProportional,
  kGreedy,
  kTune,
  kPenstock,
  kPenstockFair,
  kPenstockMaxMin,
  kCeiling,  // a bound: every job at its ceiling
  kPool,     // a bound: kPenstock with all nodes' cores as one node's
};

struct Options {
  ClusterSize size;
  // Every round all jobs are placed anew, and a job ends with the round in
  // which it has done its iterations, of which only whole ones count, as in
  // Synergy's simulator. 0: jobs start when they fit, stay where they are, and
  // end at any time.
  double round_s = 300;
  Placement placement = Placement::kPack;
  Policy policy = Policy::kPenstock;
  Order order = Order::kFifo;
  double prediction_error = 1;  // as in PenstockOptions
  uint64_t seed = 1;
};

struct JobOutcome {
  uint64_t id = 0;
  double start_s = 0;
  double end_s = 0;
  double jct_s = 0;  // end less arrival
};

// The cluster from `time_s` on.
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
  double min_rate_vs_floor = 0;  // over all jobs and times
};

// progress: told the share of jobs that have ended, now and then.
// Errors: kInvalidArgument  a job needs more GPUs than there are, or a policy
//                           of Synergy's is asked for without its profiles or
//                           without rounds: names the job or the option
[[nodiscard]] Result<Outcome> simulate(
    const std::vector<TraceJob>& trace, const Options& options,
    const std::function<void(double)>& progress);

}  // namespace penstock::simulate
