// Parsers for control files and group names of cgroup v1. Pure; errors are
// kInvalidArgument.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cgroup/backend.h"
#include "common/result.h"

namespace penstock {

// One device's Read count in blkio.throttle.io_service_bytes, whose lines are
// "7:0 Read 4096"; 0 if the device is not listed.
[[nodiscard]] Result<uint64_t> parse_io_read_bytes(std::string_view text,
                                                   std::string_view device);

// cpuacct.usage: one number, in ns.
[[nodiscard]] Result<uint64_t> parse_cpu_usage(std::string_view text);

// Whether text is "MAJOR:MINOR", decimal, each at most 2^32 - 1.
bool is_device(std::string_view text);

// 7 <-> "job_7"; nullopt for any name that job_dir does not produce.
std::string job_dir(JobId job);
std::optional<JobId> parse_job_dir(std::string_view name);

// "/slurm_n1/uid_0/job_7/step_0/task_1" -> "/slurm_n1/uid_0/job_7"; "" if no
// component is a job's.
std::string job_group_of(std::string_view path);

}  // namespace penstock
