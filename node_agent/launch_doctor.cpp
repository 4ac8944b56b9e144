#include "node_agent/launch_doctor.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>

namespace penstock {
namespace {

constexpr double kNs = 1e-9;
constexpr uint64_t kWindow_ns = 5'000'000'000;
// Of the window: a thread that ran for less did hardly anything.
constexpr double kBusyThread = 0.05;
// Of the busiest thread of a worker: others hand its samples over.
constexpr double kAsBusy = 0.5;
// Affinities that are read of a task's threads.
constexpr size_t kMostThreads = 256;

// A task without a process on its GPUs later may have done with them.
constexpr double kNewJob_s = 60;
constexpr uint64_t kNewTask_ns = 300'000'000'000;

bool has_new_task(const Job& job, uint64_t now_ns) {
  return std::any_of(job.tasks.begin(), job.tasks.end(),
                     [now_ns](const auto& entry) {
                       const Task& task = entry.second;
                       const auto since = task.known_since_ns.find(task.id.tid);
                       return since == task.known_since_ns.end() ||
                              now_ns - since->second < kNewTask_ns;
                     });
}

double used_s(const LoaderThread& thread) {
  return thread.charged.home_s + thread.charged.away_s;
}

void count_threads(const Task& task, const std::map<pid_t, double>& before,
                   double seconds, LaunchWindow& window) {
  for (const Unit& unit : task.units) {
    if (!unit.in_order) continue;
    ++window.workers;
    std::vector<double> used;
    for (const LoaderThread& thread : unit.threads) {
      const auto known = before.find(thread.home.task.tid);
      used.push_back(used_s(thread) -
                     (known == before.end() ? 0 : known->second));
    }
    const double most = *std::max_element(used.begin(), used.end());
    if (most < kBusyThread * seconds) continue;
    ++window.busy_workers;
    window.busy_threads +=
        uint32_t(std::count_if(used.begin(), used.end(), [most](double it) {
          return it >= kAsBusy * most;
        }));
  }
}

// The CPUs that the task's loader threads may use at home; nullopt: unknown.
std::optional<CpuSet> loader_cpus(const Task& task, const ThreadSched& sched) {
  if (!task.loader_cpus.empty() || task.units.size() < 2) return std::nullopt;
  CpuSet all;
  size_t looked_at = 0;
  for (const Unit& unit : task.units) {
    if (unit.away) return std::nullopt;
    for (const LoaderThread& thread : unit.threads) {
      if (++looked_at > kMostThreads) return std::nullopt;
      const Result<CpuSet> own = sched.affinity(thread.home.task.tid);
      if (own && !(*own - all).empty()) all = all | *own;
    }
  }
  return all.empty() ? std::nullopt : std::optional(all);
}

// A task whose loader may use at most half of its CPUs, and fewer than it has
// workers.
void note_pinned(const Task& task, const ThreadSched& sched,
                 LaunchWindow& window) {
  const CpuSet& own = task.home.affinity;
  if (own.size() < 2) return;
  const std::optional<CpuSet> cpus = loader_cpus(task, sched);
  if (!cpus || 2 * cpus->size() > own.size() ||
      cpus->size() >= task.units.size()) {
    return;
  }
  window.pinned_to = cpus;
  window.pinned_from = double(own.size());
}

CpuSet step_cpus(const Job& job, const Backend& backend) {
  CpuSet all;
  const bool has_steps = job.launch() != Launch::kBatch;
  for (const auto& [pid, task] : job.tasks) {
    if (has_steps && is_batch(task)) continue;
    if (const auto cpus = backend.cpuset_of(task.home)) all = all | *cpus;
  }
  return all - job.loan.cpus;  // on v2, a loan widens Slurm's groups
}

size_t core_count(const CpuSet& cpus, const std::vector<int>& core_of_cpu) {
  std::set<int> cores;
  for (int cpu : cpus.cpus()) {
    // A CPU whose core is unknown is a core of its own.
    const bool is_known = size_t(cpu) < core_of_cpu.size();
    cores.insert(is_known && core_of_cpu[size_t(cpu)] >= 0
                     ? core_of_cpu[size_t(cpu)]
                     : -1 - cpu);
  }
  return cores.size();
}

// Whether `some` has one CPU of each core of `all`, and `all` has more.
bool leaves_siblings(const CpuSet& some, const CpuSet& all,
                     const std::vector<int>& core_of_cpu) {
  return some.size() < all.size() &&
         (all - with_siblings(some, core_of_cpu)).empty() &&
         std::none_of(some.cpus().begin(), some.cpus().end(), [&](int cpu) {
           const CpuSet core = with_siblings(CpuSet({cpu}), core_of_cpu);
           return (core & some).size() > 1;
         });
}

uint64_t node_memory_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0 ? uint64_t(pages) * uint64_t(page_bytes)
                                     : 0;
}

uint32_t compute_threads(const Job& job) {
  uint64_t most = 0;
  for (const auto& [pid, task] : job.tasks) {
    for (const Rank& rank : task.ranks) {
      if (rank.progress && !rank.gone) {
        most = std::max(most, rank.progress->compute_threads);
      }
    }
  }
  return uint32_t(std::min<uint64_t>(most, UINT32_MAX));
}

}  // namespace

void LaunchDoctor::look(uint64_t now_ns) {
  if (now_ns - looked_ns_ < kWindow_ns) return;
  looked_ns_ = now_ns;
  if (!idle_) {
    if (Result<CpuIdle> opened = CpuIdle::open()) idle_ = *std::move(opened);
  }
  if (idle_ && !idle_->refresh()) idle_.reset();
  std::erase_if(begins_, [&](const auto& begin) {
    const Job* job = node_.registry.find_job(begin.first);
    return job == nullptr || job->tasks.empty();
  });
  reads_.forget_ended();
  for (auto& [id, job] : node_.registry.jobs()) {
    // A guest's CPUs come and go: nothing can be said of them.
    const bool is_judged = job.managed && !job.guest && !job.tasks.empty();
    if (is_judged) look_at(job, now_ns);
  }
}

std::optional<double> LaunchDoctor::user_s(const Job& job) const {
  const std::string& group = job.tasks.begin()->second.accounted_path;
  const auto used = node_.machine.backend.cpu_user_ns(group);
  if (group.empty() || !used) return std::nullopt;
  return double(*used) * kNs;
}

void LaunchDoctor::look_at(Job& job, uint64_t now_ns) {
  Begin now{now_ns, job.totals, job.pages().counted, {}, user_s(job)};
  for (const Unit* unit : job.units()) {
    for (const LoaderThread& thread : unit->threads) {
      now.used_s[thread.home.task.tid] = used_s(thread);
    }
  }
  const auto begin = begins_.find(job.id);
  if (begin != begins_.end() && !job.stopped && !job.measured_limit) {
    LaunchWindow window = window_of(job, begin->second, now);
    add_reads(job, window);
    job.launch_watch.add(window);
  }
  begins_[job.id] = std::move(now);
}

LaunchWindow LaunchDoctor::window_of(const Job& job, const Begin& begin,
                                     const Begin& now) {
  const double seconds = double(now.time_ns - begin.time_ns) * kNs;
  const PageCounters grown = now.pages.since(begin.pages);
  const auto cores = [&](double Totals::*figure) {
    return std::max(0.0, now.totals.*figure - begin.totals.*figure) / seconds;
  };
  LaunchWindow window;
  window.node = node_.machine.node;
  window.launch = job.launch();
  window.node_cpus = double(node_.machine.topology.cpus.size());
  window.cpus = job.cpus();
  window.job_cpus = double(window.cpus.size());
  const CpuSet of_step = step_cpus(job, node_.machine.backend);
  const CpuSet of_tasks = job.task_cpus();
  window.step_cpus = double(of_step.size());
  window.task_cpus = double(of_tasks.size());
  window.task_cores =
      double(core_count(of_tasks, node_.machine.topology.core_of_cpu));
  window.leaves_siblings =
      leaves_siblings(of_tasks, of_step, node_.machine.topology.core_of_cpu);
  window.tasks = job.task_count();
  window.ranks = job.reporting_ranks();
  window.trains = grown.samples > 0;
  if (window.trains && window.ranks > 0) {
    window.waits =
        std::clamp(grown.wait_ns * kNs / seconds / window.ranks, 0.0, 1.0);
  }
  window.fetching = grown.fetch_s() / seconds;
  window.preparing = grown.prep_s() / seconds;
  const double away_cores = cores(&Totals::away_cpu_s);
  window.loader_cores = cores(&Totals::home_cpu_s);
  window.loader_delay_cores = cores(&Totals::home_delay_s);
  if (begin.totals.job_cpu_s > 0) {
    window.trainer_cores = std::max(
        0.0, cores(&Totals::job_cpu_s) - window.loader_cores - away_cores);
  }
  for (const auto& [pid, task] : job.tasks) {
    count_threads(task, begin.used_s, seconds, window);
    note_pinned(task, node_.machine.sched, window);
  }
  window.compute_threads = compute_threads(job);
  window.near_gpus = gpus_.cpus_near_gpus_of(job);
  window.gpus = uint32_t(job.gpus().size());
  if (has_new_task(job, now.time_ns)) {
    window.gpus_without_process = without_process(job.gpu_use);
  }
  if (begin.user_s && now.user_s) {
    window.outside_cores =
        outside_cores(job, (*now.user_s - *begin.user_s) / seconds,
                      cores(&Totals::lent_cpu_s));
  }
  window.node_memory_bytes = node_memory_bytes();
  add_memory(job, window);
  return window;
}

// Asks for a look while data are waited for, and in a job's first windows, so
// that the fault is known within half a minute.
void LaunchDoctor::add_reads(const Job& job, LaunchWindow& window) {
  const auto news = reads_.take(job.id);
  window.knows_reads = news.has_value();
  if (news) window.network_reads = *news;
  const double age_s = double(begins_[job.id].time_ns - job.started_ns) * kNs;
  const bool is_new = age_s < kNewJob_s;
  if (is_new || waits_for_files(window)) reads_.want(job.id);
}

// Groups count from their creation, and a task's groups are its own.
void LaunchDoctor::add_memory(const Job& job, LaunchWindow& window) const {
  std::set<std::string> seen;
  for (const auto& [pid, task] : job.tasks) {
    if (task.memory_path.empty() || !seen.insert(task.memory_path).second) {
      continue;
    }
    const auto kills = node_.machine.backend.memory_kills(task.memory_path);
    if (!kills || kills->killed == 0) continue;
    window.memory_kills += kills->killed;
    window.memory_bytes = std::max(window.memory_bytes, kills->limit_bytes);
  }
}

void LaunchDoctor::look_at_end(Job& job) const {
  LaunchWindow window;
  window.node_memory_bytes = node_memory_bytes();
  window.ranks = job.ranks();
  window.workers = job.loader.in_processes ? job.loader.most_threads : 0;
  add_memory(job, window);
  job.launch_watch.add_kills(window);
}

// Of the job's CPUs, the programs' time that its own processes did not use.
// Their time on other CPUs counts too, so that this is too little rather than
// too much. 0 where others may use its CPUs: nobody knows on which CPU a
// borrower was.
double LaunchDoctor::outside_cores(const Job& job, double user_cores,
                                   double lent_cores) const {
  if (!idle_ || lent_cores > 0 || shares_cpus(job)) return 0;
  double computed = 0;
  for (int cpu : job.cpus().cpus()) {
    const auto share = idle_->user_shares().find(cpu);
    if (share != idle_->user_shares().end()) computed += share->second;
  }
  return std::max(0.0, computed - user_cores);
}

bool LaunchDoctor::shares_cpus(const Job& job) const {
  const CpuSet own = job.cpus();
  const auto& jobs = node_.registry.jobs();
  return std::any_of(jobs.begin(), jobs.end(), [&](const auto& it) {
    return it.first != job.id && !(it.second.cpus() & own).empty();
  });
}

}  // namespace penstock
