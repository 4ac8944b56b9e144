#include "node_agent/correction.h"

#include <utility>
#include <vector>

namespace penstock {
namespace {

using Jobs = std::vector<Job*>;
using Share = std::pair<uid_t, uint64_t>;

bool shares(const Job& job) {
  return job.share != 0 && !job.contradicted && job.corrector.trusted();
}

Figure divided(const Figure& figure, double parts) {
  return {figure.value / parts, figure.low / parts, figure.high / parts};
}

// Of what a sample costs, what each of the ranks has that use it.
Prediction one_part(Prediction whole, double ranks) {
  for (Figure Prediction::*figure :
       {&Prediction::loader_cpu_s_per_sample,
        &Prediction::storage_bytes_per_sample, &Prediction::demand_cores,
        &Prediction::demand_bytes_per_s}) {
    whole.*figure = divided(whole.*figure, ranks);
  }
  return whole;
}

// Of jobs whose costs are the same.
MeasuredCosts costs_of(const Jobs& jobs) {
  std::vector<const Corrector*> seen;
  bool knows_bytes = false;
  for (const Job* job : jobs) {
    seen.push_back(&job->corrector);
    knows_bytes = knows_bytes || job->knows_bytes;
  }
  MeasuredCosts costs = Corrector::costs_of(seen);
  // Nobody counts the bytes: none counted does not mean none read.
  if (!knows_bytes) costs.storage_bytes = Figure{};
  return costs;
}

void correct(const Jobs& jobs) {
  const MeasuredCosts costs = costs_of(jobs);
  for (Job* job : jobs) {
    const auto& prior = job->learnt_sharing ? job->learnt_sharing : job->prior;
    const Prediction whole = job->corrector.corrected(prior, costs);
    if (job->share != 0 && costs.loader_cpu_s.known()) {
      job->learnt_sharing = whole;
    }
    job->corrected = one_part(whole, job->sharers);
  }
}

}  // namespace

void correct_predictions(std::map<JobId, Job>& jobs) {
  std::map<Share, Jobs> sharers;
  for (auto& [id, job] : jobs) {
    if (!job.managed || job.tasks.empty()) continue;
    if (shares(job)) {
      sharers[{job.uid, job.share}].push_back(&job);
    } else {
      correct({&job});
    }
  }
  for (const auto& [share, same] : sharers) correct(same);
}

}  // namespace penstock
