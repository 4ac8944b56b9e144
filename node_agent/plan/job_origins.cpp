#include "node_agent/plan/job_origins.h"

#include <utility>

namespace penstock {

void JobOrigins::set(JobId job, JobOrigin origin) {
  if (origin == JobOrigin{}) {
    forget(job);
    return;
  }
  origins_[job] = std::move(origin);
  if (origins_.size() > kMaxJobs) origins_.erase(origins_.begin());
}

JobOrigin JobOrigins::of(JobId job) const {
  const auto found = origins_.find(job);
  return found == origins_.end() ? JobOrigin{} : found->second;
}

}  // namespace penstock
