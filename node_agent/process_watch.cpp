#include "node_agent/process_watch.h"

#include <algorithm>
#include <utility>

#include "common/clock.h"
#include "common/log.h"

namespace penstock {
namespace {

// Polling interval of /proc without process events.
constexpr uint64_t kPoll_ms = 100;
// Interval of the checks of a child's deadline.
constexpr uint64_t kCheck_ns = 50'000'000;
// Time for bringing strays home per scan: a user may have tens of thousands of
// threads that started away, and other jobs wait.
constexpr uint64_t kBringStrays_ns = 20'000'000;

}  // namespace

Status ProcessWatch::start() {
  Result<int> timer = node_.machine.loop.add_timer(0, [this] { scan_next(); });
  if (!timer) return std::move(timer).error();
  timer_ = *timer;
  return Done{};
}

Status ProcessWatch::watch() {
  Status events = subscribe();
  if (events) return events;
  log_warning("{}: new loaders are looked for every {} ms instead",
              events.error().message, kPoll_ms);
  auto poll = node_.machine.loop.add_timer(kPoll_ms, [this] {
    for (auto& [id, job] : node_.registry.jobs()) mark_for_scan(id);
  });
  if (!poll) return std::move(poll).error();
  return Done{};
}

Status ProcessWatch::subscribe() {
  Result<UniqueFd> events = node_.machine.broker.open_proc_events();
  if (!events) return std::move(events).error();
  events_.emplace(*std::move(events));
  node_.process_events = ProcessEvents::kConnector;
  return node_.machine.loop.watch(events_->fd(), [this] { on_events(); });
}

void ProcessWatch::on_events() {
  // Bounded: the remaining events keep the descriptor readable.
  Result<ProcEvents::Batch> batch = events_->read(256);
  if (!batch) {
    log_warning("process events: {}", batch.error().message);
    return;
  }
  if (batch->lost) {
    for (auto& [id, job] : node_.registry.jobs()) {
      for (auto& [pid, task] : job.tasks) reread_commands(task);
      mark_for_scan(id);
    }
  }
  for (const ProcEvent& event : batch->events) {
    // A new thread's parent_pid is its process's parent, which may be outside
    // the job.
    const bool forked =
        event.kind == ProcEvent::Kind::kFork && event.tid == event.pid;
    const Registry::Owner owner =
        node_.registry.known_owner(forked ? event.parent_pid : event.pid);
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
      node_.registry.note_process(event.pid, owner);
    }
    if (event.kind == ProcEvent::Kind::kExec) {
      note_exec(event.pid, *owner.task);
    }
    if (owner.job->managed) {
      mark_for_scan(owner.job->id, owner.task->id.tid);
    }
  }
}

void ProcessWatch::account_ended(Registry::Owner owner, pid_t pid) {
  std::vector<Unit>& units = owner.task->units;
  const auto unit = std::find_if(units.begin(), units.end(), [&](Unit& it) {
    return it.pid == pid && it.in_order;
  });
  if (unit != units.end()) sampler_.account(*unit, owner.job->totals);
}

void ProcessWatch::mark_for_scan(JobId job) {
  const Job* found = node_.registry.find_job(job);
  if (found == nullptr) return;
  for (const auto& [pid, task] : found->tasks) mark_for_scan(job, pid);
}

void ProcessWatch::mark_for_scan(JobId job, pid_t task) {
  queue_.mark(job, task, monotonic_ns());
  arm_timer();
}

// A burst of marks costs at most one system call.
void ProcessWatch::arm_timer() {
  const uint64_t now_ns = monotonic_ns();
  if (reading_ && timer_ns_.value_or(0) > now_ns) return;
  const uint64_t next_ns =
      reading_ ? now_ns + kCheck_ns : queue_.next_ns().value_or(0);
  if (next_ns == timer_ns_) return;
  timer_ns_ = next_ns;
  const uint64_t wait_ms =
      next_ns > now_ns ? (next_ns - now_ns) / 1'000'000 + 1 : 1;
  if (auto status =
          node_.machine.loop.set_period(timer_, next_ns == 0 ? 0 : wait_ms);
      !status) {
    log_error("scan timer: {}", status.error().message);
  }
}

// Scans one task per call, so that events, timers and cheaper scans of other
// jobs run in between. A scan that waits for command lines holds up the next
// one: waiting is a part of its cost.
void ProcessWatch::scan_next() {
  const uint64_t now_ns = monotonic_ns();
  timer_ns_.reset();  // periodic: it has to be set again
  if (reading_) {
    children_.expire(now_ns);
  } else if (auto scan = queue_.take(now_ns)) {
    begin_scan(*scan, now_ns);
  }
  arm_timer();
}

void ProcessWatch::begin_scan(ScanQueue::Scan scan, uint64_t now_ns) {
  const Registry::Owner owner = node_.registry.find_task(scan.job, scan.task);
  if (owner.job == nullptr || !owner.job->managed) {
    return end_scan(scan, now_ns);
  }
  TaskView view = scanner_.look(*owner.job, *owner.task);
  std::vector<pid_t> pids = unread_commands(view, now_ns, *owner.task);
  reading_ =
      Reading{scan, owner.task->id, now_ns, std::move(view), std::move(pids)};
  if (reading_->pids.empty()) return finish_scan({});
  read_command_lines(children_, owner.job->uid, reading_->pids,
                     [this](const CommandLines& lines) { finish_scan(lines); });
}

void ProcessWatch::finish_scan(const CommandLines& lines) {
  if (!reading_) return;
  Reading done = *std::exchange(reading_, std::nullopt);
  const Registry::Owner owner =
      node_.registry.find_task(done.scan.job, done.scan.task);
  const bool is_same =
      owner.job != nullptr && owner.job->managed && owner.task->id == done.task;
  if (is_same) {
    if (keep_commands(done.pids, lines, monotonic_ns(), *owner.task)) {
      note_hanging(*owner.job);
    }
    apply(done.view, *owner.job, *owner.task);
    const bool is_part = lines.texts.size() < done.pids.size();
    if (is_part && !lines.texts.empty()) {
      mark_for_scan(done.scan.job, done.scan.task);
    }
  }
  end_scan(done.scan, done.begun_ns);
  arm_timer();
}

void ProcessWatch::end_scan(ScanQueue::Scan scan, uint64_t begun_ns) {
  const uint64_t now_ns = monotonic_ns();
  queue_.done(scan.job, now_ns - begun_ns, now_ns);
  rebalancer_.rebalance_if_changed();
  control_loop_.adjust();
}

// The mark must outlive penstockd: it may be restarted because of the process.
void ProcessWatch::note_hanging(Job& job) {
  node_.save_state();
  const std::string text = hanging_note();
  if (job.note(text)) log_warning("job {}: {}", job.id, text);
}

void ProcessWatch::apply(TaskView& view, Job& job, Task& task) {
  add_commands(task, view);
  for (Unit& unit : task.units) sampler_.account(unit, job.totals);
  const std::set<pid_t> before = task.processes;
  for (const Home& stray : scanner_.apply(view, job, task)) {
    (void)node_.machine.backend.bring_home(stray);
  }
  node_.registry.note_scan({&job, &task}, before);
  if (task.processes != before) pools_.attach(job, task);
  if (!job.loan.gives_way) bring_strays_home(job);
  separation_.keep_apart(task);
}

// A child of an away worker starts away. If it is no loader, it must not stay
// behind a busy lender. Threads left after kBringStrays_ns wait for the next
// scan.
void ProcessWatch::bring_strays_home(Job& job) {
  Backend& backend = node_.machine.backend;
  Result<std::set<pid_t>> away = backend.away_threads(job.id);
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
  const FindHome find_home = node_.finder();
  const uint64_t until_ns = monotonic_ns() + kBringStrays_ns;
  for (pid_t tid : *away) {
    if (monotonic_ns() > until_ns) {
      mark_for_scan(job.id);
      return;
    }
    // A worker's new threads belong where the worker is; a scan of its task
    // adds them.
    const Result<ProcStatus> status = node_.machine.proc.status(tid);
    if (status && away_workers.contains(status->tgid)) continue;
    if (auto home = find_home(tid)) (void)backend.bring_home(*home);
  }
}

}  // namespace penstock
