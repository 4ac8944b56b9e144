#include "node_agent/sharers.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace penstock {
namespace {

using Share = std::pair<uid_t, uint64_t>;

// A share expels a rank that uses no batch for this long while others do,
// unless the rank has left.
constexpr uint64_t kSilent_ns = 60'000'000'000;

struct SharingRank {
  Share share;
  Job* job = nullptr;
  uint64_t updated_ns = 0;
};

// A stopped job neither prepares nor uses batches.
std::vector<SharingRank> ranks_that_say_so(std::map<JobId, Job>& jobs) {
  std::vector<SharingRank> ranks;
  for (auto& [id, job] : jobs) {
    if (job.stopped) continue;
    for (const auto& [pid, task] : job.tasks) {
      for (const Rank& rank : task.ranks) {
        if (rank.gone || !rank.progress || rank.progress->share == 0) continue;
        ranks.push_back(
            {{job.uid, rank.progress->share}, &job, rank.progress->updated_ns});
      }
    }
  }
  return ranks;
}

void leave_out_silent(std::vector<SharingRank>& ranks) {
  std::map<Share, uint64_t> newest_ns;
  for (const SharingRank& rank : ranks) {
    uint64_t& newest = newest_ns[rank.share];
    newest = std::max(newest, rank.updated_ns);
  }
  std::erase_if(ranks, [&](const SharingRank& rank) {
    return newest_ns[rank.share] - rank.updated_ns > kSilent_ns;
  });
}

}  // namespace

void count_sharers(std::map<JobId, Job>& jobs) {
  for (auto& [id, job] : jobs) {
    job.sharing.sharers = 1;
    job.sharing.share = 0;
  }
  std::vector<SharingRank> ranks = ranks_that_say_so(jobs);
  leave_out_silent(ranks);
  std::map<Share, uint32_t> count;
  for (const SharingRank& rank : ranks) ++count[rank.share];
  for (const SharingRank& rank : ranks) {
    Job& job = *rank.job;
    if (job.sharing.share != 0 && count[rank.share] <= job.sharing.sharers)
      continue;
    job.sharing.sharers = count[rank.share];
    job.sharing.share = rank.share.second;
    job.sharing.most_sharers =
        std::max(job.sharing.most_sharers, job.sharing.sharers);
  }
}

}  // namespace penstock
