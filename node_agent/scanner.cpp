#include "node_agent/scanner.h"

#include <unistd.h>

#include <algorithm>

#include "common/clock.h"
#include "node_agent/messages.h"
#include "node_agent/registry.h"

namespace penstock {
namespace {

// True if a former loader thread has turned out to be a trainer's. A process
// that was a worker as a whole may turn out to be a trainer. Single threads of
// a trainer's process remain loaders. A main thread matched the user's pattern
// only because nothing else did.
bool is_trainers(const Task& task, const std::map<int, pid_t>& process_of,
                 int tid, bool was_worker) {
  const auto process = process_of.find(tid);
  if (process == process_of.end()) return false;  // it has ended
  const pid_t pid = process->second;
  return (was_worker && (task.trainer_pids.contains(pid) ||
                         task.greeting_pids.contains(pid))) ||
         (tid == pid && std::any_of(task.units.begin(), task.units.end(),
                                    [&](const Unit& unit) {
                                      return unit.pid == pid && !unit.in_order;
                                    }));
}

// Updates what the task knows of its processes. Returns the process of each
// living thread.
std::map<int, pid_t> note_processes(const TaskView& view,
                                    const Classification& found, Task& task) {
  task.processes.clear();
  std::map<int, pid_t> process_of;
  for (const ProcessView& process : view.processes) {
    task.processes.insert(process.pid);
    for (const ThreadView& thread : process.threads) {
      process_of[thread.tid] = process.pid;
    }
  }
  // Ended processes and threads are forgotten, because their ids may be reused.
  auto ended = [&](int tid) { return !process_of.contains(tid); };
  std::erase_if(task.registered_tids, ended);
  std::erase_if(task.greeting_pids, ended);
  task.trainer_pids.insert(found.trainer_pids.begin(),
                           found.trainer_pids.end());
  std::erase_if(task.trainer_pids, ended);
  std::erase_if(task.known_since_ns, [&](const auto& known) {
    return !task.processes.contains(known.first);
  });
  for (pid_t pid : task.processes) {
    task.known_since_ns.try_emplace(pid, monotonic_ns());
  }
  return process_of;
}

}  // namespace

bool started_since(const TaskId& thread, uint64_t since_ns) {
  static const uint64_t tick_ns =
      1'000'000'000u / static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  // Start times count from boot, including suspension of the machine.
  const uint64_t slept_ns = read_clock_ns(CLOCK_BOOTTIME) - monotonic_ns();
  return (thread.starttime_ticks + 1) * tick_ns >= since_ns + slept_ns;
}

std::optional<ProcessView> Scanner::process_view(pid_t pid) const {
  Result<ProcStat> stat = proc_.stat(pid);
  if (!stat || stat->dead()) return std::nullopt;
  ProcessView view;
  view.pid = pid;
  view.parent_pid = stat->ppid;
  view.starttime_ticks = stat->starttime_ticks;
  view.comm = stat->comm;
  // Most workers are one thread: do not list what is known.
  Result<std::vector<pid_t>> tids =
      stat->threads == 1 ? Result(std::vector<pid_t>{pid}) : proc_.threads(pid);
  if (!tids) return std::nullopt;
  for (pid_t tid : *tids) {
    Result<std::string> comm =
        tid == pid ? Result<std::string>(stat->comm) : proc_.comm(tid);
    if (comm) view.threads.push_back({tid, *std::move(comm)});
  }
  return view;
}

TaskView Scanner::look(Job& job, const Task& task) const {
  TaskView view;
  view.root_pid = task.id.tid;
  view.registered_tids = task.registered_tids;
  view.greeting_pids = task.greeting_pids;
  view.trainer_pids = task.trainer_pids;
  const uint64_t now_ns = monotonic_ns();
  for (const auto& [pid, since_ns] : task.known_since_ns) {
    if (!job.stopped && now_ns >= since_ns + kExecTakes_ns) {
      view.seen_pids.insert(pid);
    }
  }
  view.loader_pids = loader_processes(task);
  view.match = fixed_text(task.start.options.match);
  std::vector<pid_t> pids = {task.id.tid};
  if (auto below = proc_.descendants(task.id.tid, kMaxProcesses)) {
    pids.insert(pids.end(), below->pids.begin(), below->pids.end());
    if (below->truncated) {
      job.note("more than 4096 processes: the rest are not looked at");
    }
  }
  for (pid_t pid : pids) {
    if (auto process = process_view(pid)) {
      view.processes.push_back(*std::move(process));
    }
  }
  return view;
}

bool Scanner::is_of_job(const Task& task, pid_t tid) const {
  Result<ProcCgroups> groups = proc_.cgroups(tid);
  if (!groups || task.home.job_path.empty()) return false;
  return backend_.job_groups_of(*groups).tracked == task.home.job_path;
}

std::optional<Scanner::Found> Scanner::open_thread(const Job& job,
                                                   const Task& task,
                                                   pid_t tid) const {
  Result<TaskId> id = proc_.identity(tid);
  if (!id || !is_of_job(task, tid)) return std::nullopt;
  Result<Home> home = backend_.home_of(*id);
  const bool away = !home && home.error().code == Code::kInvalidArgument;
  if (away) {
    // Created by an away thread: its home is the task's.
    Home inherited = task.home;
    inherited.task = *id;
    home = inherited;
  }
  Result<SchedstatFile> file = proc_.open_schedstat(tid);
  if (!home || !file) return std::nullopt;
  Result<SchedStat> now = file->read();
  if (!now) return std::nullopt;
  const bool is_new = started_since(*id, job.sampled_ns);
  return Found{LoaderThread{*std::move(home), *std::move(file), *now,
                            is_new ? SchedStat{} : *now},
               away};
}

Scanner::Known Scanner::take_threads(Task& task) {
  Known known;
  for (Unit& unit : task.units) {
    if (unit.away) known.away_units.insert(unit.id);
    for (LoaderThread& thread : unit.threads) {
      const pid_t tid = thread.home.task.tid;
      if (unit.away) known.away.insert(tid);
      if (unit.in_order) known.of_workers.insert(tid);
      known.threads.emplace(tid, std::move(thread));
    }
  }
  task.units.clear();
  return known;
}

std::optional<LoaderThread> Scanner::take_dropped(Task& task, pid_t tid) const {
  auto dropped = task.dropped.extract(tid);
  if (!dropped || !proc_.verify(dropped.mapped().home.task)) {
    return std::nullopt;
  }
  return std::move(dropped.mapped());
}

void Scanner::add_units(const std::vector<LoaderUnit>& loaders, const Job& job,
                        Task& task, Known& known) const {
  size_t opened = known.threads.size();
  for (const LoaderUnit& loader : loaders) {
    Unit unit;
    unit.id = loader.tids.front();
    unit.pid = loader.pid;
    unit.in_order = loader.whole_process;
    unit.away = known.away_units.contains(unit.id);
    for (int tid : loader.tids) {
      if (auto node = known.threads.extract(tid)) {
        unit.threads.push_back(std::move(node.mapped()));
      } else if (auto dropped = take_dropped(task, tid)) {
        unit.threads.push_back(*std::move(dropped));
      } else if (opened < kMaxLoaderThreads) {
        if (auto found_thread = open_thread(job, task, tid)) {
          ++opened;
          unit.away = unit.away || found_thread->away;
          unit.threads.push_back(std::move(found_thread->thread));
        }
      }
    }
    if (!unit.threads.empty()) task.units.push_back(std::move(unit));
  }
}

std::vector<Home> Scanner::apply(const TaskView& view, Job& job,
                                 Task& task) const {
  const Classification found =
      job.loan.gives_way ? all_processes(view) : classify(view);
  if (job.loader.evidence == LoaderEvidence::kNone && !found.units.empty()) {
    job.forget_trainer_use();  // it included the loader's use
  }
  job.loader.evidence = std::max(job.loader.evidence, found.source);
  task.look_again = found.undecided;
  const std::map<int, pid_t> process_of = note_processes(view, found, task);
  for (Rank& rank : task.ranks) rank.gone = !proc_.verify(rank.writer);

  Known known = take_threads(task);
  add_units(found.units, job, task, known);
  std::vector<Home> stray;
  for (auto& [tid, thread] : known.threads) {
    if (known.away.contains(tid)) stray.push_back(thread.home);
    if (is_trainers(task, process_of, tid, known.of_workers.contains(tid))) {
      charge_trainer(job, thread);
    } else if (process_of.contains(tid)) {
      task.dropped.insert_or_assign(tid, std::move(thread));
    }
  }
  return stray;
}

}  // namespace penstock
