#include "node_agent/period.h"

#include <algorithm>

#include "node_agent/plan/attribution.h"

namespace penstock {
namespace {

std::optional<double> if_positive(double value) {
  if (value > 0) return value;
  return std::nullopt;
}

// For a job without pages: shares from PSI and NVML.
void set_shares_without_pages(const Job& job, TimelinePoint& point) {
  const Totals& before = job.sampled;
  TimeSpent spent;
  spent.wall_s = point.duration_s;
  if (before.pressure && job.totals.pressure) {
    const auto seconds = [](uint64_t from_us, uint64_t to_us) {
      return double(to_us - from_us) * 1e-6;
    };
    spent.cpu_pressure_s =
        seconds(before.pressure->cpu_us, job.totals.pressure->cpu_us);
    spent.io_pressure_s =
        seconds(before.pressure->io_us, job.totals.pressure->io_us);
  }
  if (const auto busy = mean_busy(job.gpu_use)) {
    spent.gpu_busy_s = *busy * point.duration_s;
  }
  set_shares(point, attribute(spent));
}

}  // namespace

void record_period(Job& job, double period_s, uint64_t now_ns) {
  const Totals& before = job.sampled;
  const Totals& now = job.totals;
  // The kernel's counters may include reads from before penstockd started.
  const bool is_first = job.quality.periods == 0;
  const double age_s = double(now_ns - std::min(now_ns, job.started_ns)) * 1e-9;
  TimelinePoint point;
  point.duration_s = std::min(period_s, age_s);
  if (!(point.duration_s > 0)) return;
  point.begin_unix_s = job.started_unix_s + age_s - point.duration_s;
  const CpuUse used = cpu_use(before, now);
  point.granted_home_cores = job.grant.home_cores;
  point.granted_away_cores = job.grant.away_cores;
  point.used_home_cores = used.home_s / point.duration_s;
  point.used_away_cores = used.away_s / point.duration_s;
  if (used.trainer_s) {
    point.used_trainer_cores = *used.trainer_s / point.duration_s;
  }
  point.granted_bytes_per_s = if_positive(double(job.reads.limit_bytes_per_s));
  if (!is_first && job.reads.knows_bytes) {
    point.used_bytes_per_s =
        std::max(0.0, now.read_bytes - before.read_bytes) / point.duration_s;
  }
  if (job.costs.corrected) {
    point.predicted_rate = job.grant.samples_per_s(&PlannedGrant::rate);
  }
  if (job.reports()) return job.course.add_waiting(point);
  set_shares_without_pages(job, point);
  job.course.add(point);
}

}  // namespace penstock
