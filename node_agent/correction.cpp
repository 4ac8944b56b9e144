#include "node_agent/correction.h"

#include <utility>
#include <vector>

namespace penstock {
namespace {

using Jobs = std::vector<Job*>;
using Share = std::pair<uid_t, uint64_t>;

constexpr double kFirstCorrection_s = 10;

bool shows_costs(const Job& job) {
  return job.sharing.share != 0 && !job.costs.contradicted &&
         job.costs.corrector.trusted();
}

Figure divided(const Figure& figure, double parts) {
  return {figure.value / parts, figure.low / parts, figure.high / parts};
}

// The part of a sample's costs for each rank that uses the sample.
MeasuredCosts one_part(const MeasuredCosts& costs, double ranks) {
  return {divided(costs.loader_cpu_s, ranks),
          divided(costs.storage_bytes, ranks)};
}

// The common costs of jobs that share batches.
MeasuredCosts costs_of(const Jobs& jobs) {
  std::vector<const Corrector*> seen;
  bool knows_bytes = false;
  for (const Job* job : jobs) {
    seen.push_back(&job->costs.corrector);
    knows_bytes = knows_bytes || job->reads.knows_bytes;
  }
  MeasuredCosts costs = Corrector::costs_of(seen);
  // Without byte counts, 0 does not mean that nothing was read.
  if (!knows_bytes) costs.storage_bytes = Figure{};
  return costs;
}

void correct(const Jobs& jobs) {
  const MeasuredCosts shown = costs_of(jobs);
  for (Job* job : jobs) {
    MeasuredCosts& learnt = job->costs.learnt_sharing;
    const bool shares = job->sharing.share != 0;
    if (!shares && !job->costs.corrector.saw_sharing())
      learnt = MeasuredCosts{};
    const MeasuredCosts costs{
        shown.loader_cpu_s.known() ? shown.loader_cpu_s : learnt.loader_cpu_s,
        shown.storage_bytes.known() ? shown.storage_bytes
                                    : learnt.storage_bytes};
    if (shares) learnt = costs;
    job->costs.corrected = job->costs.corrector.corrected(
        job->costs.prior, one_part(costs, job->sharing.sharers));
  }
}

}  // namespace

void correct_predictions(std::map<JobId, Job>& jobs) {
  std::map<Share, Jobs> sharers;
  for (auto& [id, job] : jobs) {
    if (!job.managed || job.tasks.empty()) continue;
    if (shows_costs(job)) {
      sharers[{job.uid, job.sharing.share}].push_back(&job);
    } else {
      correct({&job});
    }
  }
  for (const auto& [share, same] : sharers) correct(same);
}

void note_first_ceiling(Job& job, uint64_t now_ns) {
  const double age_s = double(now_ns - job.started_ns) * 1e-9;
  if (job.costs.first_corrected_ceiling || !job.costs.corrected ||
      age_s < kFirstCorrection_s || !(job.costs.corrector.observed_s() > 0)) {
    return;
  }
  const Figure& ceiling = job.costs.corrected->ceiling_samples_per_s;
  const double ranks = job.ranks();
  job.costs.first_corrected_ceiling = Estimate{
      ceiling.value * ranks, ceiling.low * ranks, ceiling.high * ranks};
}

}  // namespace penstock
