#include "node_agent/job_totals.h"

#include <algorithm>

namespace penstock {

namespace {

// Of a job: the CPU time of further ones is not told by lender.
constexpr size_t kMaxLenders = 1024;

// Sampling begins a moment after the start, and ends before the end: a job that
// was never acted for was observed all the time.
void add_imagined(const JobReport& report, const Job& job, RunTotals& run) {
  const ImaginedTotals& totals = job.imagined_totals;
  if (job.was_acted_for) {
    run.observed_s = totals.observed_s();
  } else if (!totals.empty()) {
    run.observed_s = report.breakdown.wall_s;
  }
  run.would_borrow_core_s = totals.borrowed_core_s();
  run.would_lend_core_s = totals.lent_core_s();
  if (!report.would_have || !report.would_have->saved_s) return;
  run.would_save_s = report.would_have->saved_s->value;
  run.would_save_low_s = report.would_have->saved_s->low;
  run.would_save_high_s = report.would_have->saved_s->high;
}

void add_gpus(const Job& job, RunTotals& run) {
  const GpuTotals& totals = job.totals.gpus;
  if (!totals.gpus.empty() && totals.known.empty()) return;
  run.gpu_s = totals.watched_gpu_s;
  run.gpu_busy_s = totals.busy_gpu_s;
  run.gpu_idle_s = totals.longest_idle_s;
}

// Time that threads which count as away spent on the job's own CPUs.
void take_home(double cpu_s, Totals& totals) {
  totals.home_cpu_s += cpu_s;
  totals.away_cpu_s -= cpu_s;
  totals.credited_away_cpu_s = totals.away_cpu_s;
}

}  // namespace

RunTotals run_totals(const JobReport& report, const Job& job) {
  RunTotals run;
  const Breakdown& breakdown = report.breakdown;
  run.wall_s = breakdown.wall_s;
  for (const WallPartNames& it : kWallParts) {
    run.parts_s[it.part] = breakdown.parts[it.part].seconds;
  }
  run.waited_s = breakdown.waited_s;
  const PageSums sums = job.pages();
  if (sums.active_s > 0) {
    run.active_s =
        std::min(sums.active_s / sums.ranks_at_once(), breakdown.wall_s);
  }
  if (job.quality.agent_restarts == 0) {
    run.home_core_s = job.totals.home_cpu_s;
    run.away_core_s = job.totals.away_cpu_s;
    run.lent_core_s = job.totals.lent_cpu_s;
    run.guest_core_s = job.guest ? job.totals.away_cpu_s : 0;
    const CoreFigures& cores = report.cores;
    // A guest's own CPUs are mostly others'.
    if (!job.guest && cores.job && cores.used_home && cores.used_trainer) {
      run.allocated_core_s = *cores.job * breakdown.wall_s;
      run.used_core_s =
          (*cores.used_home + *cores.used_trainer) * breakdown.wall_s;
    }
    add_imagined(report, job, run);
  }
  add_gpus(job, run);
  if (report.floor_rate && report.ranks > 0) {
    run.floor_samples_per_s = *report.floor_rate / report.ranks;
  }
  return within_bounds(run);
}

void credit_lenders(const std::map<int, uint64_t>& lender_of_cpu,
                    std::map<JobId, Job>& jobs) {
  for (auto& [id, borrower] : jobs) {
    Totals& totals = borrower.totals;
    const double used_s = totals.away_cpu_s - totals.credited_away_cpu_s;
    totals.credited_away_cpu_s = totals.away_cpu_s;
    // Those in force; as planned if all have been recalled.
    const CpuSet in_force = borrower.grant.away_cpus & borrower.loan.cpus;
    const CpuSet& lent = in_force.empty() ? borrower.grant.away_cpus : in_force;
    // A guest's threads spread over its own CPUs, too.
    const CpuSet& own = borrower.loan.own_cpus;
    const double of_each_s = used_s / double((lent | own).size());
    if (!own.empty()) take_home(of_each_s * double(own.size()), totals);
    for (const int cpu : lent.cpus()) {
      const auto lender = lender_of_cpu.find(cpu);
      if (lender == lender_of_cpu.end()) continue;
      if (totals.lent_by_cpu_s.size() < kMaxLenders ||
          totals.lent_by_cpu_s.contains(lender->second)) {
        totals.lent_by_cpu_s[lender->second] += of_each_s;
      }
      const auto found = jobs.find(JobId(lender->second));
      if (found == jobs.end()) continue;
      found->second.totals.lent_cpu_s += of_each_s;
    }
  }
}

}  // namespace penstock
