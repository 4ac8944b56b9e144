// Process events, scanning, adoption, and the ends of tasks and jobs.
#include <poll.h>

#include <algorithm>

#include "common/clock.h"
#include "common/log.h"
#include "common/options.h"
#include "node_agent/agent.h"
#include "node_agent/home_finder.h"
#include "node_agent/job_totals.h"

namespace penstock {
namespace {

// Time for bringing strays home per scan: a user may have tens of thousands of
// threads that started away, and other jobs wait.
constexpr uint64_t kBringStrays_ns = 20'000'000;
constexpr uint64_t kForgetAfter_ns = 600'000'000'000;

}  // namespace

Status Agent::subscribe_events() {
  Result<ProcEvents> events = ProcEvents::subscribe();
  if (!events) return std::move(events).error();
  events_.emplace(*std::move(events));
  return machine_.loop.watch(events_->fd(), [this] { on_process_events(); });
}

void Agent::on_process_events() {
  // Bounded: the remaining events keep the descriptor readable.
  Result<ProcEvents::Batch> batch = events_->read(256);
  if (!batch) {
    log_warning("process events: {}", batch.error().message);
    return;
  }
  if (batch->lost) {
    for (auto& [id, job] : registry_.jobs()) mark_for_scan(id);
  }
  for (const ProcEvent& event : batch->events) {
    // A new thread's parent_pid is its process's parent, which may be outside
    // the job.
    const bool forked =
        event.kind == ProcEvent::Kind::kFork && event.tid == event.pid;
    const Registry::Owner owner =
        registry_.known_owner(forked ? event.parent_pid : event.pid);
    if (owner.job == nullptr) continue;
    if (event.kind == ProcEvent::Kind::kExit) {
      if (event.tid == event.pid && owner.job->tasks.contains(event.pid)) {
        // Its other threads may continue, or one of them may have called exec.
        owner.job->tasks.at(event.pid).exit_seen_ns = event.time_ns;
      }
      if (event.tid == event.pid) account_ended(owner, event.pid);
      continue;
    }
    if (forked && owner.task->processes.size() < Scanner::kMaxProcesses) {
      registry_.note_process(event.pid, owner);
    }
    if (owner.job->managed) {
      mark_for_scan(owner.job->id, owner.task->id.tid);
    }
  }
}

void Agent::account_ended(Registry::Owner owner, pid_t pid) {
  std::vector<Unit>& units = owner.task->units;
  const auto unit = std::find_if(units.begin(), units.end(), [&](Unit& it) {
    return it.pid == pid && it.in_order;
  });
  if (unit != units.end()) sampler_.account(*unit, owner.job->totals);
}

void Agent::mark_for_scan(JobId job) {
  const Job* found = registry_.find_job(job);
  if (found == nullptr) return;
  for (const auto& [pid, task] : found->tasks) mark_for_scan(job, pid);
}

void Agent::mark_for_scan(JobId job, pid_t task) {
  scan_queue_.mark(job, task, monotonic_ns());
  arm_scan_timer();
}

// A burst of marks costs at most one system call.
void Agent::arm_scan_timer() {
  const uint64_t next_ns = scan_queue_.next_ns().value_or(0);
  if (next_ns == scan_timer_ns_) return;
  scan_timer_ns_ = next_ns;
  const uint64_t now_ns = monotonic_ns();
  const uint64_t wait_ms =
      next_ns > now_ns ? (next_ns - now_ns) / 1'000'000 + 1 : 1;
  if (auto status =
          machine_.loop.set_period(scan_timer_, next_ns == 0 ? 0 : wait_ms);
      !status) {
    log_error("scan timer: {}", status.error().message);
  }
}

// Scans one task per call, so that events, timers and cheaper scans of other
// jobs run in between.
void Agent::scan_marked() {
  scan_timer_ns_.reset();  // periodic: it has to be set again
  if (auto scan = scan_queue_.take(monotonic_ns())) {
    const uint64_t begun_ns = monotonic_ns();
    Job* job = registry_.find_job(scan->job);
    if (job != nullptr && job->tasks.contains(scan->task)) {
      scan_task(*job, job->tasks.at(scan->task));
    }
    const uint64_t ended_ns = monotonic_ns();
    scan_queue_.done(scan->job, ended_ns - begun_ns, ended_ns);
  }
  const bool may_plan = double(monotonic_ns() - planned_ns_) * 1e-6 >=
                        double(config_.min_solve_interval_ms);
  if (may_plan && has_changed_enough()) rebalance(GrantCause::kMeasuredChange);
  adjust_tick();
  arm_scan_timer();
}

void Agent::scan_task(Job& job, Task& task) {
  if (!job.managed) return;
  for (Unit& unit : task.units) sampler_.account(unit, job.totals);
  const std::set<pid_t> before = task.processes;
  for (const Home& stray : scanner_.scan(job, task)) {
    (void)machine_.backend.bring_home(stray);
  }
  if (task.processes != before) attach_io(job, task);
  bring_strays_home(job);
  keep_apart(task);
}

// If tasks' CPUs overlapped, their loaders would all get the same few CPUs.
void Agent::decide_apart(Job& job, Task& task) {
  if (job.options.threads == 0) return;
  bool shared = false;
  for (auto& [id, other_job] : registry_.jobs()) {
    for (auto& [pid, other] : other_job.tasks) {
      // A batch script shares its CPUs with the steps that it starts.
      const bool of_script =
          id == job.id && (is_batch(task) || is_batch(other));
      if (&other == &task || of_script) continue;
      if ((other.home.affinity & task.home.affinity).empty()) continue;
      shared = true;
      put_together(other);
      other.loader_cpus = CpuSet();
    }
  }
  if (shared) {
    job.note(option_flag(kOptionThreads) +
             ": its tasks share CPUs; loaders and trainers are not kept apart");
    return;
  }
  task.loader_cpus = loader_part(task.home.affinity, job.options.threads,
                                 machine_.topology.core_of_cpu);
}

void Agent::keep_apart(Task& task) {
  if (task.loader_cpus.empty() || is_off()) return;
  // Without a loader, as between epochs, the trainer may use all CPUs.
  if (task.units.empty()) return put_together(task);
  std::set<pid_t> loaders;
  std::set<pid_t> away;
  for (const Unit& unit : task.units) {
    for (const LoaderThread& thread : unit.threads) {
      (unit.away ? away : loaders).insert(thread.home.task.tid);
    }
  }
  splitter_.apply({task.home.affinity, task.loader_cpus}, task.processes,
                  loaders, away);
}

void Agent::put_together(Task& task) {
  if (task.loader_cpus.empty()) return;
  const HomeSplit split{task.home.affinity, task.loader_cpus};
  splitter_.undo(split, task.id);
  // Away threads will return to all CPUs.
  for (Unit& unit : task.units) {
    for (LoaderThread& thread : unit.threads) {
      CpuSet& mask = thread.home.affinity;
      if (mask == split.loader || mask == split.trainer()) mask = split.cpus;
    }
  }
}

// A child of an away worker starts away. If it is no loader, it must not stay
// behind a busy lender. Threads left after kBringStrays_ns wait for the next
// scan.
void Agent::bring_strays_home(Job& job) {
  Result<std::set<pid_t>> away = machine_.backend.away_threads(job.id);
  if (!away) return;
  std::set<pid_t> away_workers;
  for (Unit* unit : job.units()) {
    if (!unit->away) continue;
    if (unit->in_order) away_workers.insert(unit->pid);
    for (const LoaderThread& thread : unit->threads) {
      away->erase(thread.home.task.tid);
    }
  }
  if (away->empty()) return;
  const FindHome find_home = finder();
  const uint64_t until_ns = monotonic_ns() + kBringStrays_ns;
  for (pid_t tid : *away) {
    if (monotonic_ns() > until_ns) {
      mark_for_scan(job.id);
      return;
    }
    // A worker's new threads belong where the worker is; a scan of its task
    // adds them.
    const Result<ProcStatus> status = machine_.proc.status(tid);
    if (status && away_workers.contains(status->tgid)) continue;
    if (auto home = find_home(tid)) (void)machine_.backend.bring_home(*home);
  }
}

FindHome Agent::finder() const {
  return home_finder(machine_.proc, machine_.backend, saved_tasks());
}

// Attaches processes older than the job's group; later ones are born into it.
void Agent::attach_io(Job& job, Task& task) {
  if (pool_of(job) < 0 || is_off()) return;
  for (pid_t pid : task.processes) {
    Result<Home> home = machine_.backend.home_of(TaskId{pid, 0});
    if (!home || home->blkio_path != task.home.blkio_path) continue;
    Status status = machine_.backend.attach_io(job.id, *home);
    if (!status && status.error().code != Code::kNotFound) {
      const std::string text = "I/O limit: " + status.error().message;
      if (job.note(text)) log_warning("job {}: {}", job.id, text);
      return;
    }
  }
}

void Agent::introduce(Job& job, const Task& task) {
  Status known = machine_.backend.add_task(job.id, task.home);
  // ENODEV: the task ended while its group was read.
  const bool is_gone = !known && (known.error().code == Code::kNotFound ||
                                  known.error().saved_errno == ENODEV);
  if (known || is_gone || !job.may_borrow) return;
  job.may_borrow = false;
  job.note("CPUs cannot be lent to it: " + known.error().message);
  log_warning("job {}: CPUs cannot be lent to it: {}", job.id,
              known.error().message);
}

void Agent::begin_task(Job& job, Task& task) {
  const JobId job_id = job.id;
  const pid_t pid = task.id.tid;
  Status watched = machine_.loop.watch(
      task.pidfd.get(), [this, job_id, pid] { on_task_gone(job_id, pid); });
  if (!watched) log_warning("job {}: {}", job_id, watched.error().message);
  if (!job.managed) return;
  job.note_widest();
  note_if_off(job);
  if (config_.lend_across == LendAcross::kAccount &&
      accounts_.of(job_id).empty()) {
    job.note("its account is unknown: CPUs are lent between its user's jobs");
  }
  introduce(job, task);
  load_profile(job_id);
  decide_apart(job, task);
  attach_io(job, task);
  mark_for_scan(job_id, pid);
  log_info("job {}: task {} started on CPUs {}", job_id, task.start.task_id,
           task.home.affinity.to_string());
}

// The event may belong to an earlier owner of the descriptor's number, so poll
// the pidfd.
void Agent::on_task_gone(JobId job_id, pid_t pid) {
  Job* job = registry_.find_job(job_id);
  if (job == nullptr || !job->tasks.contains(pid)) return;
  const Task& task = job->tasks.at(pid);
  pollfd gone{task.pidfd.get(), POLLIN, 0};
  if (::poll(&gone, 1, 0) != 1) return;
  end_task(job_id, pid,
           task.exit_seen_ns != 0 ? task.exit_seen_ns : monotonic_ns());
}

void Agent::end_task(JobId job_id, pid_t pid, uint64_t exited_ns) {
  Job* job = registry_.find_job(job_id);
  if (job == nullptr || !job->tasks.contains(pid)) return;
  Task& task = job->tasks.at(pid);
  for (Unit& unit : task.units) sampler_.account(unit, job->totals);
  for (Rank& rank : task.ranks) {
    (void)rank.read(job->options.batch);
  }
  job->note_widest();
  for (Rank& rank : task.ranks) {
    if (rank.progress) job->ended.add(*rank.progress);
  }
  task.ranks.clear();        // job->ended counts them from now on
  job->last.updated_ns = 0;  // the page sums lose this task
  machine_.loop.forget(task.pidfd.get());
  for (Unit& unit : task.units) enforcer_.bring_home(*job, unit);
  put_together(task);
  const bool was_last = job->tasks.size() == 1;
  if (was_last && job->managed) write_report(*job);
  if (was_last) {
    credit_lenders(lender_of_cpu_, registry_.jobs());
    enforcer_.vacate(*job, job->away_now);
    job->grant.away_cpus = CpuSet();  // its loans have ended
  }
  registry_.remove_task(job_id, pid);
  rebalance(was_last ? GrantCause::kJobEnd : GrantCause::kTaskEnd, exited_ns);
  if (was_last && !enforcer_.release(*job, finder())) leftovers_ = true;
  if (was_last) job->idle_since_ns = monotonic_ns();
  if (was_last && !job->managed) forget_job(job_id);
  machine_.loop.defer([this] { save_state(); });
}

void Agent::finish_job(JobId job_id) {
  Job* job = registry_.find_job(job_id);
  if (job == nullptr) return;
  while (!job->tasks.empty()) {
    end_task(job_id, job->tasks.begin()->first, monotonic_ns());
    job = registry_.find_job(job_id);
    if (job == nullptr) return;
  }
  planned_.erase(job_id);
  forget_job(job_id);
}

void Agent::forget_job(JobId job) {
  scan_queue_.forget(job);
  registry_.erase_job(job);
}

// Threads that outlive their task's first process keep a group busy for a
// moment. A job whose end was not announced is forgotten after kForgetAfter_ns.
void Agent::tidy(uint64_t now_ns) {
  std::set<JobId> alive;
  std::vector<JobId> forgotten;
  for (const auto& [id, job] : registry_.jobs()) {
    if (!job.tasks.empty()) {
      alive.insert(id);
    } else if (now_ns - job.idle_since_ns > kForgetAfter_ns) {
      forgotten.push_back(id);
    }
  }
  for (JobId id : forgotten) finish_job(id);
  if (!leftovers_) return;
  auto nobody = [](pid_t) -> std::optional<Home> { return std::nullopt; };
  if (machine_.backend.sweep(alive, nobody)) leftovers_ = false;
}

void Agent::adopt(const std::vector<SavedTask>& saved) {
  for (const SavedTask& task : saved) {
    if (!machine_.proc.verify(task.home.task)) continue;
    // Undoes the saved split; begin_task() decides anew.
    splitter_.undo({task.home.affinity, task.loader_cpus}, task.home.task);
    Result<Task*> added = registry_.add(task.start, task.home);
    if (!added) {
      log_warning("job {}: not adopted: {}", task.start.job_id,
                  added.error().message);
      continue;
    }
    Job& job = *registry_.find_job(task.start.job_id);
    accounts_.set(job.id, task.account);
    job.managed = manages(job.options);
    job.started_unix_s = task.job_started_unix_s;
    const double age_s = std::max(0.0, unix_s() - job.started_unix_s);
    job.started_ns = monotonic_ns() - uint64_t(age_s * 1e9);
    ++job.quality.agent_restarts;
    begin_task(job, **added);
  }
}

std::vector<SavedTask> Agent::saved_tasks() const {
  std::vector<SavedTask> saved;
  for (const auto& [id, job] : registry_.jobs()) {
    for (const auto& [pid, task] : job.tasks) {
      saved.push_back({task.start, task.home, job.started_unix_s,
                       task.loader_cpus, accounts_.of(id)});
    }
  }
  return saved;
}

void Agent::save_state() {
  Status status = save_tasks(machine_.state_dir_fd, saved_tasks());
  if (!status) log_error("saving state: {}", status.error().message);
}

}  // namespace penstock
