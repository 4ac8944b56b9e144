// Numbers of jobs as squeue prints them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/result.h"

namespace penstock {

// "4711", "9_1" (task 1 of array 9), "20+1" (component 1 of heterogeneous job
// 20). A step may follow, and makes no difference: "4711.0", "9_1.batch".
struct JobNumber {
  std::string text;  // without the step
  // If the number is a job's own; nullopt: Slurm has to tell it.
  std::optional<uint32_t> id;
  uint32_t first = 0;  // of the job, the array or the heterogeneous job
  std::optional<uint32_t> task;
  std::optional<uint32_t> component;
};

// Errors: kInvalidArgument  names the forms
[[nodiscard]] Result<JobNumber> parse_job_number(std::string_view text);

}  // namespace penstock
