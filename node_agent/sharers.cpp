#include "node_agent/sharers.h"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

using Share = std::pair<uid_t, uint64_t>;

// Calls what it is given with the share of each rank that has one. A job that
// is stopped neither prepares nor uses anything.
template <class Function>
void for_each_share(const Job& job, const Function& function) {
  if (job.stopped) return;
  for (const auto& [pid, task] : job.tasks) {
    for (const Rank& rank : task.ranks) {
      if (rank.gone || !rank.progress || rank.progress->share == 0) continue;
      function(Share{job.uid, rank.progress->share});
    }
  }
}

}  // namespace

void count_sharers(std::map<JobId, Job>& jobs) {
  std::map<Share, uint32_t> ranks;
  for (const auto& [id, job] : jobs) {
    for_each_share(job, [&](const Share& share) { ++ranks[share]; });
  }
  for (auto& entry : jobs) {
    Job& job = entry.second;
    job.sharers = 1;
    job.share = 0;
    for_each_share(job, [&](const Share& share) {
      if (job.share != 0 && ranks[share] <= job.sharers) return;
      job.sharers = ranks[share];
      job.share = share.second;
    });
    job.most_sharers = std::max(job.most_sharers, job.sharers);
  }
}

}  // namespace penstock
