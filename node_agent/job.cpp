#include "node_agent/job.h"

#include <algorithm>
#include <cmath>

#include "node_agent/messages.h"
#include "node_agent/plan/gpus.h"

namespace penstock {
namespace {

constexpr size_t kReserveSamples = 5;
// A rank this far behind the newest update has stopped reporting.
constexpr uint64_t kSilent_ns = 30'000'000'000;

}  // namespace

void charge_trainer(Job& job, const LoaderThread& thread) {
  const Charge& charged = thread.charged;
  if (!(charged.home_s + charged.away_s > 0)) return;
  const auto give_back = [](Totals& totals, const Charge& charge) {
    totals.home_cpu_s = std::max(0.0, totals.home_cpu_s - charge.home_s);
    totals.away_cpu_s = std::max(0.0, totals.away_cpu_s - charge.away_s);
  };
  give_back(job.totals, charged);
  give_back(job.sampled, thread.sampled);
  // Lenders keep their credit: they did lend this CPU time.
  job.totals.credited_away_cpu_s =
      std::min(job.totals.credited_away_cpu_s, job.totals.away_cpu_s);
  // These figures counted the thread as a loader's until now.
  job.forget_trainer_use();
  job.loader.most_threads = 0;
  job.loader.in_processes = false;
  job.last.updated_ns = 0;
}

void add_pages(const Task& task, PageSums& sums) {
  for (size_t i = 0; i < task.ranks.size(); ++i) {
    if (!task.ranks[i].progress) continue;
    sums.add(*task.ranks[i].progress, {task.start.task_id, uint32_t(i)});
  }
}

PageSums Job::pages() const {
  PageSums sums = ended;
  for (const auto& [pid, task] : tasks) {
    add_pages(task, sums);
  }
  return sums;
}

bool Job::note(const std::string& text) {
  const std::string cut = text.substr(0, kMaxReportTextBytes);
  const bool known = std::find(notes.begin(), notes.end(), cut) != notes.end();
  if (known || notes.size() >= kMaxReportNotes) return false;
  notes.push_back(cut);
  return true;
}

uint32_t Job::task_count() const {
  const auto scripts =
      std::count_if(tasks.begin(), tasks.end(),
                    [](const auto& it) { return is_batch(it.second); });
  const size_t others = tasks.size() - size_t(scripts);
  return uint32_t(others > 0 ? others : tasks.size());
}

// All ranks progress together. A process that reported once and then only waits
// for the real trainer is therefore no rank.
uint32_t Job::reporting_ranks() const {
  uint64_t newest_ns = 0;
  for (const auto& [pid, task] : tasks) {
    for (const Rank& rank : task.ranks) {
      if (rank.progress && !rank.gone) {
        newest_ns = std::max(newest_ns, rank.progress->updated_ns);
      }
    }
  }
  uint32_t reporting = 0;
  for (const auto& [pid, task] : tasks) {
    for (const Rank& rank : task.ranks) {
      if (rank.progress && !rank.gone &&
          rank.progress->updated_ns + kSilent_ns >= newest_ns) {
        ++reporting;
      }
    }
  }
  return reporting;
}

uint32_t Job::ranks() const {
  const uint32_t reporting = reporting_ranks();
  return reporting > 0 ? reporting : std::max(1u, task_count());
}

CpuSet Job::gpus() const {
  CpuSet gpus;
  for (const auto& [pid, task] : tasks) {
    gpus = gpus | gpu_numbers(fixed_text(task.start.gpus));
  }
  return gpus;
}

uint32_t Job::shares() const {
  size_t gpus = 0;
  for (const auto& [pid, task] : tasks) {
    gpus = std::max(gpus, gpu_numbers(fixed_text(task.start.gpus)).size());
  }
  // Users control the number of tasks (srun --overcommit). Only the GPUs and
  // the CPUs are Slurm's decision.
  const size_t most =
      std::min(std::max<size_t>(task_count(), gpus), cpus().size());
  return std::clamp<uint32_t>(ranks(), 1u, std::max(1u, uint32_t(most)));
}

void Job::note_widest() {
  if (tasks.size() < widest.tasks) return;  // cheap: called at each task's end
  const uint32_t now_tasks = task_count();
  // Requires the usual number of reporting ranks. A rank that reported only
  // briefly does not raise that number.
  const PageSums sums = pages();
  const bool fewer_ranks =
      sums.ranks > 0 &&
      double(reporting_ranks()) < std::round(sums.ranks_at_once());
  if (now_tasks < widest.tasks || fewer_ranks) return;
  widest = {now_tasks, cpus(),    trainer_reserve_cores(*this),
            grant,     elastic(), task_cpus(),
            launch()};
}

CpuSet Job::cpus() const {
  CpuSet all;
  for (const auto& [pid, task] : tasks) {
    // Many tasks have few different sets; a union allocates memory.
    const CpuSet& own = task.home.affinity;
    if (!(own - all).empty()) all = all | own;
  }
  return all;
}

CpuSet Job::task_cpus() const {
  const bool has_steps = launch() != Launch::kBatch;
  CpuSet all;
  for (const auto& [pid, task] : tasks) {
    if (!has_steps || !is_batch(task)) all = all | task.home.affinity;
  }
  return all;
}

Launch Job::launch() const {
  if (tasks.empty()) return Launch::kUnknown;
  const auto scripts =
      std::count_if(tasks.begin(), tasks.end(),
                    [](const auto& it) { return is_batch(it.second); });
  if (size_t(scripts) == tasks.size()) return Launch::kBatch;
  return scripts > 0 ? Launch::kStepOfBatch : Launch::kStep;
}

std::vector<Unit*> Job::units() {
  std::vector<Unit*> all;
  for (auto& [pid, task] : tasks) {
    for (Unit& unit : task.units) all.push_back(&unit);
  }
  return all;
}

bool Job::reports() const {
  return any_rank(
      [](const Rank& rank) { return rank.progress && !rank.pages.garbage(); });
}

bool Job::elastic() const {
  return any_rank([](const Rank& rank) {
    return rank.progress && !rank.gone && rank.progress->follows_hint;
  });
}

bool Job::is_apart() const {
  return std::any_of(tasks.begin(), tasks.end(), [](const auto& entry) {
    return !entry.second.loader_cpus.empty();
  });
}

std::optional<double> recent_rate(const Job& job, double now_s,
                                  double seconds) {
  double sum = 0;
  int count = 0;
  for (const RecentRate& point : job.rates) {
    if (now_s - point.time_s > seconds) continue;
    sum += point.rate;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

void Job::note_stopped(bool is_stopped) {
  if (is_stopped == stopped) return;
  stopped = is_stopped;
  for (auto& [pid, task] : tasks) task.known_since_ns.clear();
}

void Job::forget_trainer_use() {
  trainer.held_reserve_cores = trainer_reserve_cores(*this);
  trainer.cores.clear();
}

double trainer_reserve_cores(const Job& job) {
  if (job.trainer.cores.size() < kReserveSamples && job.costs.prior) {
    return job.costs.prior->trainer_reserve_cores * job.ranks();
  }
  if (job.trainer.cores.empty()) return job.trainer.held_reserve_cores;
  std::vector<double> sorted = job.trainer.cores;
  std::sort(sorted.begin(), sorted.end());
  const auto index = size_t(std::floor(0.95 * double(sorted.size() - 1)));
  return sorted[index];
}

}  // namespace penstock
