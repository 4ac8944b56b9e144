#include "node_agent/job_use.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr size_t kReserveWindow = 60;
constexpr double kCrowdedKept = 0.9;  // per sample
// A job starves if its loader threads together wait for a CPU for the first
// share of the time. The second share of its own CPUs must be in use meanwhile.
// Half of both values keeps it starving.
constexpr double kStarved = 0.1;
constexpr double kStarvedBusy = 0.6;
constexpr double kIdle = 0.05;  // cores

// A task's loader delays its trainer for no longer than the loader ran at home,
// and not at all on separate CPUs. Once the loader is away, the trainer's own
// use shows its needs, and the reserve follows.
void note_crowding(Job& job, const CpuUse& used, double delay_s,
                   double period_s) {
  double crowded = 0;
  if (job.task_count() > 0 && !job.is_apart()) {
    const double home_s = used.home_s / double(job.task_count());
    const double share = std::min(delay_s, home_s) / period_s;
    crowded = crowded_cores(*used.trainer_s / period_s, share);
  }
  job.trainer.crowded_cores =
      std::max(kCrowdedKept * job.trainer.crowded_cores, crowded);
}

// Charges of the task's loader threads since the last sample.
Charge charged_since(const Task& task) {
  Charge since;
  for (const Unit& unit : task.units) {
    for (const LoaderThread& thread : unit.threads) {
      since.home_s += thread.charged.home_s - thread.sampled.home_s;
      since.home_delay_s +=
          thread.charged.home_delay_s - thread.sampled.home_delay_s;
    }
  }
  return since;
}

// Sets job.loader.starved: loader threads at home, of the job or one of its
// tasks, wait for a CPU while many of its CPUs are in use. The second condition
// excludes threads that rarely run, but all at once.
void note_starving(Job& job, const CpuUse& used, double period_s) {
  const double factor = job.loader.starved ? 0.5 : 1.0;
  const auto starves = [&](double delay_s, double busy_s, const CpuSet& cpus) {
    return delay_s >= factor * kStarved * period_s &&
           busy_s >= factor * kStarvedBusy * double(cpus.size()) * period_s;
  };
  const double trainer_s = used.trainer_s.value_or(0);
  job.loader.starved =
      starves(job.totals.home_delay_s - job.sampled.home_delay_s,
              used.home_s + trainer_s, job.cpus());
  for (const auto& [pid, task] : job.tasks) {
    const Charge since = charged_since(task);
    const double busy_s =
        since.home_s + trainer_s / std::max(1.0, double(job.task_count()));
    job.loader.starved =
        job.loader.starved ||
        starves(since.home_delay_s, busy_s, task.home.affinity);
  }
}

}  // namespace

void note_use(Job& job, double trainer_delay_s, double period_s) {
  if (job.loan.gives_way) {
    // All of it was away, also of processes too short-lived to be seen.
    job.totals.away_cpu_s +=
        cpu_use(job.sampled, job.totals).trainer_s.value_or(0);
  }
  const CpuUse used = cpu_use(job.sampled, job.totals);
  job.loader.used_cores =
      0.7 * job.loader.used_cores + 0.3 * used.loader_s() / period_s;
  note_starving(job, used, period_s);
  job.is_idle =
      used.trainer_s && used.loader_s() + *used.trainer_s < kIdle * period_s;
  if (!used.trainer_s || job.stopped) return;
  note_crowding(job, used, trainer_delay_s, period_s);
  job.trainer.cores.push_back(*used.trainer_s / period_s);
  if (job.trainer.cores.size() > kReserveWindow) {
    job.trainer.cores.erase(job.trainer.cores.begin());
  }
}

}  // namespace penstock
