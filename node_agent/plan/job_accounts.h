// The Slurm account of each announced job. Separate from the job records,
// because an account is announced earlier, and an unmanaged job has a record
// only while it has tasks. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "common/job_id.h"

namespace penstock {

class JobAccounts {
 public:
  // Sets the account; "" removes it. Beyond kMaxJobs entries, removes the
  // lowest job id, assuming that its end was not announced.
  void set(JobId job, std::string account);
  void forget(JobId job) { accounts_.erase(job); }

  // "": unknown.
  std::string of(JobId job) const;

  static constexpr size_t kMaxJobs = 8192;

 private:
  std::map<JobId, std::string> accounts_;
};

}  // namespace penstock
