#include "node_agent/correction.h"

#include <utility>
#include <vector>

namespace penstock {
namespace {

using Sharers = std::map<std::pair<uid_t, uint64_t>, std::vector<const Job*>>;

bool is_sampled(const Job& job) { return job.managed && !job.tasks.empty(); }

Sharers sharers_of(const std::map<JobId, Job>& jobs) {
  Sharers sharers;
  for (const auto& [id, job] : jobs) {
    const bool is_believed = !job.contradicted && job.corrector.trusted();
    if (is_sampled(job) && is_believed && job.share != 0) {
      sharers[{job.uid, job.share}].push_back(&job);
    }
  }
  return sharers;
}

// Nobody counts the bytes: none counted does not mean none read.
void keep_expected_bytes(Job& job) {
  const Prediction expected = job.prior.value_or(Prediction{});
  job.corrected->storage_bytes_per_sample = expected.storage_bytes_per_sample;
  job.corrected->demand_bytes_per_s = expected.demand_bytes_per_s;
}

}  // namespace

void correct_predictions(std::map<JobId, Job>& jobs) {
  const Sharers sharers = sharers_of(jobs);
  for (auto& [id, job] : jobs) {
    if (!is_sampled(job)) continue;
    const auto found = sharers.find({job.uid, job.share});
    std::vector<const Corrector*> fellows;
    bool knows_bytes = job.knows_bytes;
    if (found != sharers.end()) {
      for (const Job* sharer : found->second) {
        if (sharer == &job) continue;
        fellows.push_back(&sharer->corrector);
        knows_bytes = knows_bytes || sharer->knows_bytes;
      }
    }
    job.corrected = job.corrector.corrected(job.prior, fellows);
    if (!knows_bytes) keep_expected_bytes(job);
  }
}

}  // namespace penstock
