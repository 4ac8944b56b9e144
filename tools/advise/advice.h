// CPUs, workers and memory to ask for, from an earlier run of the job or from a
// profile. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "predictor/profile.h"
#include "report/estimate.h"
#include "report/report.h"
#include "tools/advise/nodes.h"
#include "tools/advise/request.h"

namespace penstock::advise {

// An earlier run of the same kind of job.
struct EarlierRun {
  JobReport report;
  bool is_complete = false;            // it did all of its work
  std::optional<int> gpus;             // of all nodes; nullopt: not known
  double ended_unix_s = 0;             // 0: not known
  std::optional<double> memory_bytes;  // most that one task used
};

// The job with one number of CPUs per task.
struct Choice {
  enum class What { kAsked, kAdvised, kMost } what = What::kAsked;
  int cpus_per_task = 1;
  Estimate rate;  // samples/s of all ranks
  // nullopt: the job's work is not known.
  std::optional<double> hours, core_hours, gpu_hours;
  std::optional<double> bytes_per_s;  // read from storage
};

struct Advice {
  std::string basis;               // "the report of job 4711, ..."
  std::vector<std::string> lines;  // to paste; empty: nothing would help
  std::vector<Choice> choices;     // in the order of What; no CPUs twice
  int advised_cpus_per_task = 1;
  std::optional<double> memory_bytes;  // of a node, measured
  std::vector<std::string> notes;      // sentences without a full stop
  std::optional<FittingNodes> nodes;   // nullopt: Slurm did not tell
};

// groups: of the request's partitions; nullopt: Slurm did not tell.
// Errors: kInvalidArgument  no node has what the request asks for
//         kNotFound         the run's report, or the profile, tells too little;
//                           the run's tasks had other numbers of GPUs
[[nodiscard]] Result<Advice> advise_by_run(
    const Request& request, const EarlierRun& run,
    const std::optional<std::vector<NodeGroup>>& groups);
[[nodiscard]] Result<Advice> advise_by_profile(
    const Request& request, const Profile& profile,
    const std::optional<std::vector<NodeGroup>>& groups);

const char* choice_name(Choice::What what);  // in JSON: "asked"

}  // namespace penstock::advise
