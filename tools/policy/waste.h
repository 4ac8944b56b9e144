// What runs of the history held and did not use. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/job_record.h"

namespace penstock::policy {

enum class Waste { kIdleGpus, kInputBound, kUnusedCores };
inline constexpr Waste kWastes[] = {Waste::kIdleGpus, Waste::kInputBound,
                                    Waste::kUnusedCores};
const char* waste_name(Waste waste);  // in JSON: "idle_gpus"

// From when on a run is worth telling. packaging/prometheus has these times and
// shares for jobs that run; there a GPU is idle with the others of its job.
struct Rules {
  double idle_gpu_h = 2;      // no kernel on one of its GPUs for so long
  double input_bound = 0.3;   // share of its time in which it waited for data
  double input_bound_h = 2;   // and it ran for so long
  double core_use = 0.25;     // share of its cores that it used
  double unused_cores_h = 6;  // and it ran for so long
  double least_cores = 4;     // and had so many
};

struct Finding {
  Waste waste = Waste::kIdleGpus;
  JobRecord job;
  double wasted_h = 0;  // GPU hours; of kUnusedCores: core hours
  double held_h = 0;    // likewise, of which wasted_h is a part
};

std::vector<Finding> findings_of(const JobRecord& job, const Rules& rules);

// "no kernel ran on one of its 4 GPUs for 3 h 12 min at a time: 9.1 of its 12.8
// GPU hours had none".
std::string finding_text(const Finding& finding);

// A user's findings, the most hours first.
struct UserFindings {
  uint32_t uid = 0;
  std::string user;
  std::vector<Finding> findings;
};
// By falling wasted hours of GPUs, then of cores.
std::vector<UserFindings> by_user(std::vector<Finding> findings);

}  // namespace penstock::policy
