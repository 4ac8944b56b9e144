// Numbers of jobs as squeue prints them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace penstock {

// "4711", "9_1" (task 1 of array 9), "20+1" (component 1 of heterogeneous job
// 20). A step may follow, and makes no difference: "4711.0", "9_1.batch".
struct JobNumber {
  std::string text;  // without the step
  // If the number is a job's own; nullopt: Slurm has to tell it.
  std::optional<uint32_t> id;
};

// Errors: kInvalidArgument  names the forms
[[nodiscard]] Result<JobNumber> parse_job_number(std::string_view text);

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
