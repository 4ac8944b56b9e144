#include "node_agent/task_lifecycle.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/clock.h"
#include "common/log.h"
#include "node_agent/command_lines.h"
#include "node_agent/guardian.h"
#include "node_agent/home_finder.h"

namespace penstock {
namespace {

constexpr uint64_t kForgetAfter_ns = 600'000'000'000;

}  // namespace

void TaskLifecycle::adopt(const std::vector<SavedTask>& saved) {
  // Threads first: the tasks are expected at home.
  Status swept = node_.machine.backend.sweep(
      {}, home_finder(node_.machine.proc, node_.machine.backend, saved));
  if (!swept) log_warning("sweeping leftovers: {}", swept.error().message);
  leftovers_ = !swept;
  for (const SavedTask& task : saved) {
    if (!node_.machine.proc.verify(task.home.task)) continue;
    // Undoes the saved split; begin_tasks() decides anew.
    parts_.separation.undo(task);
    Result<Task*> added = node_.registry.add(task.start, task.home);
    if (!added) {
      log_warning("job {}: not adopted: {}", task.start.job_id,
                  added.error().message);
      continue;
    }
    Job& job = *node_.registry.find_job(task.start.job_id);
    node_.origins.set(job.id, task.origin);
    job.managed = node_.manages(job.options);
    (void)node_.settle(job);
    job.started_unix_s = task.job_started_unix_s;
    const double age_s = std::max(0.0, unix_s() - job.started_unix_s);
    job.started_ns = monotonic_ns() - uint64_t(age_s * 1e9);
    ++job.quality.agent_restarts;
    restore_hanging(task.hanging, **added);
    if (!task.hanging.empty()) job.note(hanging_note());
    started_[job.id].insert((*added)->id.tid);
  }
  begin_started();
}

void TaskLifecycle::introduce(Job& job, const Task& task) {
  Status known = node_.machine.backend.add_task(job.id, task.home);
  // ENODEV: the task ended while its group was read.
  const bool is_gone = !known && (known.error().code == Code::kNotFound ||
                                  known.error().saved_errno == ENODEV);
  if (known || is_gone || !job.loan.may_borrow) return;
  job.loan.may_borrow = false;
  job.note("CPUs cannot be lent to it: " + known.error().message);
  log_warning("job {}: CPUs cannot be lent to it: {}", job.id,
              known.error().message);
}

// Without a group that Slurm tracks, a process cannot be told from one of
// another job that has got its pid.
void TaskLifecycle::refuse(Job& job) {
  job.managed = false;
  if (std::exchange(has_refused_, true)) return;
  log_error(
      "job {} and those like it are not managed: Slurm tracks its processes "
      "without control groups; set ProctrackType=proctrack/cgroup in "
      "slurm.conf",
      job.id);
}

void TaskLifecycle::start_task(const Job& job, const Task& task) {
  started_[job.id].insert(task.id.tid);
  if (changes_plan(job, task)) {
    parts_.rebalancer.request(GrantCause::kTaskStart);
  }
  node_.save_soon();
}

void TaskLifecycle::begin_started() {
  for (auto& [id, pids] : std::exchange(started_, {})) {
    Job* job = node_.registry.find_job(id);
    if (job == nullptr) continue;
    std::erase_if(pids, [job](pid_t pid) { return !job->tasks.contains(pid); });
    if (!pids.empty()) begin_tasks(*job, pids);
  }
}

void TaskLifecycle::begin_tasks(Job& job, const std::set<pid_t>& pids) {
  if (job.managed && std::any_of(pids.begin(), pids.end(), [&](pid_t pid) {
        return job.tasks.at(pid).home.job_path.empty();
      })) {
    refuse(job);
  }
  if (job.managed) {
    job.note_widest();
    node_.note_if_off(job);
    if (node_.config.lend_across == LendAcross::kAccount &&
        node_.origins.of(job.id).account.empty()) {
      job.note("its account is unknown: CPUs are lent between its user's jobs");
    }
    if (job.observed && node_.origins.of(job.id) == JobOrigin{} &&
        names_origins(node_.config.modes)) {
      job.note(
          "its partition and account are unknown, and Mode= lines name some: "
          "it is only observed; see spank_penstock(8)");
    }
    if (job.options.mode == PENSTOCK_MODE_GUEST && !job.guest) {
      job.note("it is no guest: it has a GPU, or Guests= does not take it");
    }
    if (!job.guest) parts_.profiles.load(job);
  }
  for (const pid_t pid : pids) {
    Task& task = job.tasks.at(pid);
    Status watched = node_.machine.loop.watch(
        task.pidfd.get(), [this, id = job.id, pid] { on_task_gone(id, pid); });
    if (!watched) log_warning("job {}: {}", job.id, watched.error().message);
    if (job.managed) begin_managed(job, task);
  }
}

// A guest that cannot give way is a job as others.
void TaskLifecycle::take_in(Job& job, Task& task) {
  const Status done = parts_.enforcer.take_in(job, task);
  if (done) return;
  const std::string text =
      "it is a guest, but does not give way: " + done.error().message;
  if (job.note(text)) log_warning("job {}: {}", job.id, text);
  if (job.loan.gives_way) return;  // its other tasks do
  job.guest = job.loan.may_give_way = false;
  if (!parts_.enforcer.release(job, node_.finder())) leftovers_ = true;
}

void TaskLifecycle::welcome(Job& job, Task& task) {
  if (!job.guest || !node_.acts_for(job)) return;
  introduce(job, task);
  take_in(job, task);
}

void TaskLifecycle::set_up(Job& job, Task& task) {
  introduce(job, task);
  if (job.guest && node_.acts_for(job)) take_in(job, task);
  if (!job.guest) parts_.separation.decide(job, task);
  parts_.pools.attach(job, task);
}

void TaskLifecycle::begin_managed(Job& job, Task& task) {
  set_up(job, task);
  parts_.processes.mark_for_scan(job.id, task.id.tid);
  log_info("job {}: task {} started on CPUs {}", job.id, task.start.task_id,
           task.home.affinity.to_string());
}

bool TaskLifecycle::changes_plan(const Job& job, const Task& task) const {
  return job.managed || parts_.rebalancer.concerns(task.home.affinity);
}

// The event may belong to an earlier owner of the descriptor's number, so poll
// the pidfd.
void TaskLifecycle::on_task_gone(JobId job_id, pid_t pid) {
  Job* job = node_.registry.find_job(job_id);
  if (job == nullptr || !job->tasks.contains(pid)) return;
  const Task& task = job->tasks.at(pid);
  pollfd gone{task.pidfd.get(), POLLIN, 0};
  if (::poll(&gone, 1, 0) != 1) return;
  end_task(job_id, pid,
           task.exit_seen_ns != 0 ? task.exit_seen_ns : monotonic_ns());
}

void TaskLifecycle::end_task(JobId job_id, pid_t pid, uint64_t exited_ns) {
  Job* job = node_.registry.find_job(job_id);
  if (job == nullptr || !job->tasks.contains(pid)) return;
  Task& task = job->tasks.at(pid);
  for (Unit& unit : task.units) parts_.sampler.account(unit, job->totals);
  parts_.launch_doctor.look_at_end(*job);
  for (Rank& rank : task.ranks) {
    (void)rank.read(job->options.batch);
  }
  job->note_widest();
  add_pages(task, job->ended);
  task.ranks.clear();        // job->ended counts them from now on
  job->last.updated_ns = 0;  // the page sums lose this task
  node_.machine.loop.forget(task.pidfd.get());
  if (!job->loan.gives_way) {
    for (Unit& unit : task.units) parts_.enforcer.bring_home(*job, unit);
  }
  parts_.separation.put_together(task);
  const bool was_last = job->tasks.size() == 1;
  if (changes_plan(*job, task)) {
    parts_.rebalancer.request(
        was_last ? GrantCause::kJobEnd : GrantCause::kTaskEnd, exited_ns);
  }
  if (was_last) {
    parts_.reporter.estimate(*job);
    if (job->managed) parts_.reporter.write_report(*job);
    parts_.rebalancer.credit_loans();
    parts_.enforcer.vacate(*job, job->loan.cpus);
    job->grant.away_cpus = CpuSet();  // its loans have ended
  }
  node_.registry.remove_task(job_id, pid);
  if (was_last) {
    if (!parts_.enforcer.release(*job, node_.finder())) leftovers_ = true;
    job->idle_since_ns = monotonic_ns();
    if (!job->managed) forget_job(job_id);
  }
  node_.save_soon();
}

void TaskLifecycle::finish_job(JobId job_id) {
  Job* job = node_.registry.find_job(job_id);
  if (job == nullptr) return;
  while (!job->tasks.empty()) {
    end_task(job_id, job->tasks.begin()->first, monotonic_ns());
    job = node_.registry.find_job(job_id);
    if (job == nullptr) return;
  }
  forget_job(job_id);
}

void TaskLifecycle::forget_job(JobId job) {
  parts_.processes.forget(job);
  node_.registry.erase_job(job);
}

void TaskLifecycle::set_up_again(Job& job) {
  if (!job.managed || !node_.acts_for(job)) return;
  job.loan.policy = AwayPolicy();  // the old one would count the time off
  for (auto& [pid, task] : job.tasks) {
    set_up(job, task);
  }
  parts_.processes.mark_for_scan(job.id);
}

void TaskLifecycle::set_up_all_again() {
  for (auto& [id, job] : node_.registry.jobs()) set_up_again(job);
}

// The guardian took penstockd for hung, brought all threads home and removed
// the groups. Sets everything up again.
void TaskLifecycle::recover() {
  log_warning("was stopped for {} s or more: starting again",
              Guardian::kPatience_ms / 1000);
  for (auto& [id, job] : node_.registry.jobs()) {
    if (!parts_.enforcer.release(job, node_.finder())) leftovers_ = true;
    job.measured_limit.reset();  // the measuring job repeats its request
  }
  set_up_all_again();
  parts_.rebalancer.rebalance(GrantCause::kAgentStart);
}

// Threads that outlive their task's first process keep a group busy for a
// moment. A job whose end was not announced is forgotten after kForgetAfter_ns.
void TaskLifecycle::tidy(uint64_t now_ns) {
  std::set<JobId> alive;
  std::vector<JobId> forgotten;
  for (const auto& [id, job] : node_.registry.jobs()) {
    if (!job.tasks.empty()) {
      if (node_.acts_for(job)) alive.insert(id);
    } else if (now_ns - job.idle_since_ns > kForgetAfter_ns) {
      forgotten.push_back(id);
    }
  }
  for (JobId id : forgotten) finish_job(id);
  if (!leftovers_) return;
  if (node_.machine.backend.sweep(alive, node_.finder())) leftovers_ = false;
}

}  // namespace penstock
