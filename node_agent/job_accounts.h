// The Slurm account of each job that was announced. Kept apart from the jobs'
// records: it comes before them, and an unmanaged job has one only while a
// task of its runs. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "cgroup/backend.h"

namespace penstock {

class JobAccounts {
 public:
  // An empty account is none. Beyond kMaxJobs the lowest job, whose end nobody
  // announced, is forgotten.
  void set(JobId job, std::string account);
  void forget(JobId job) { accounts_.erase(job); }

  // "" where it is unknown.
  std::string of(JobId job) const;

  static constexpr size_t kMaxJobs = 8192;

 private:
  std::map<JobId, std::string> accounts_;
};

}  // namespace penstock
