// Runs of the history with something to tell.
#pragma once

#include <string>

#include "tools/policy/waste.h"

namespace penstock::policy {

constexpr double kHour_s = 3600;

// Ran for ten hours on 2 GPUs and 8 cores, and used them all.
inline JobRecord run_of(uint32_t job_id, uint32_t uid = 1000,
                        const std::string& user = "ada") {
  JobRecord job;
  job.cluster = "alpha";
  job.job_id = job_id;
  job.uid = uid;
  job.user = user;
  job.name = "train";
  job.gpus = 2;
  job.ranks = 2;
  job.submit_unix_s = 1780000000;
  job.end_unix_s = 1780036000;
  job.state = "COMPLETED";
  job.run.wall_s = 10 * kHour_s;
  job.run.waited_s = 0;
  job.run.allocated_core_s = 80 * kHour_s;
  job.run.used_core_s = 70 * kHour_s;
  job.run.gpu_s = 20 * kHour_s;
  job.run.gpu_busy_s = 18 * kHour_s;
  job.run.gpu_idle_s = 60;
  return job;
}

// One of its GPUs had nothing to do for five hours.
inline JobRecord idle(JobRecord job) {
  job.run.gpu_busy_s = 5 * kHour_s;
  job.run.gpu_idle_s = 5 * kHour_s;
  return job;
}

inline JobRecord starved(JobRecord job) {
  job.run.waited_s = 4 * kHour_s;
  return job;
}

inline JobRecord wide(JobRecord job) {
  job.run.used_core_s = 8 * kHour_s;
  return job;
}

inline std::vector<Finding> all_of(const std::vector<JobRecord>& jobs) {
  std::vector<Finding> out;
  for (const JobRecord& job : jobs) {
    for (Finding& it : findings_of(job, Rules())) out.push_back(std::move(it));
  }
  return out;
}

}  // namespace penstock::policy
