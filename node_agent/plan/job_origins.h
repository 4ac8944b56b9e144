// The Slurm account and partition of each announced job. Separate from the job
// records, because they are announced earlier, and an unmanaged job has a
// record only while it has tasks. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "common/job_id.h"

namespace penstock {

struct JobOrigin {
  std::string account;    // "": none, or unknown
  std::string partition;  // "": unknown

  friend bool operator==(const JobOrigin&, const JobOrigin&) = default;
};

class JobOrigins {
 public:
  // Sets the origin; an empty one removes it. Beyond kMaxJobs entries, removes
  // the lowest job id, assuming that its end was not announced.
  void set(JobId job, JobOrigin origin);
  void forget(JobId job) { origins_.erase(job); }

  JobOrigin of(JobId job) const;

  static constexpr size_t kMaxJobs = 8192;

 private:
  std::map<JobId, JobOrigin> origins_;
};

}  // namespace penstock
