// What Slurm knows of a job's number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/job_number.h"
#include "common/result.h"

namespace penstock {

struct KnownJob {
  uint32_t id = 0;
  std::string state;               // "PENDING"
  std::vector<std::string> nodes;  // their names; empty: not known
};

// The job as slurmctld has it.
// Errors: kNotFound     slurmctld knows the job no longer, or Slurm is not here
//         kUnavailable  it does not answer within five seconds
[[nodiscard]] Result<KnownJob> ask_slurmctld(const JobNumber& number);

// What Slurm knows of a job: scontrol's answer, or sacct's for one that has
// ended long ago. Each gets five seconds.
// Errors: kNotFound     neither knows it, or they are not installed
//         kUnavailable  neither knows it, and one did not answer or failed
[[nodiscard]] Result<KnownJob> ask_slurm(const JobNumber& number);

}  // namespace penstock
