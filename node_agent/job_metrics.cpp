#include "node_agent/job_metrics.h"

#include <algorithm>


namespace penstock {
namespace {

// The period of the metrics file.
constexpr double kRate_s = 15;

JobCounters counters_of(const Job& job, const JobReport& report) {
  const Totals& totals = job.totals;
  const PageSums sums = job.pages();
  JobCounters now;
  now.home_cpu_s = totals.home_cpu_s;
  now.away_cpu_s = totals.away_cpu_s;
  if (totals.job_cpu_s > 0) {
    now.trainer_cpu_s =
        std::max(0.0, totals.job_cpu_s - totals.home_cpu_s - totals.away_cpu_s);
  }
  if (sums.ranks > 0) now.samples = sums.counted.samples;
  if (job.reads.knows_bytes) now.read_bytes = totals.read_bytes;
  if (totals.gpus.watched_s > 0) now.gpu_busy_s = totals.gpus.busy_s;
  now.wall_s = wall_parts_s(report.breakdown);
  now.changes = job.changes.by_cause;
  return now;
}

}  // namespace

JobMetrics job_metrics(Job& job, const JobReport& report, double now_s) {
  raise(job.told, counters_of(job, report));
  JobMetrics metrics;
  metrics.granted_home_cores = job.grant.home_cores;
  metrics.granted_away_cores = job.grant.away_cores;
  if (job.reads.limit_bytes_per_s > 0) {
    metrics.granted_bytes_per_s = double(job.reads.limit_bytes_per_s);
  }
  metrics.rate = recent_rate(job, now_s, kRate_s);
  metrics.gpus = uint32_t(job.gpus().size());
  if (job.imagined) {
    metrics.imagined_borrowed_cores = job.imagined->borrowed_cores;
    metrics.imagined_lent_cores = job.imagined->lent_cores;
  }
  metrics.counters = job.told;
  // A counter that stands still would say that the GPUs are idle.
  if (!mean_busy(job.gpu_use)) metrics.counters.gpu_busy_s.reset();
  return metrics;
}

}  // namespace penstock
