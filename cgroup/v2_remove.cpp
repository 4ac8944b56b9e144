// Removes our groups and restores Slurm's, also after a crashed run.
#include "cgroup/backend_parts.h"
#include "cgroup/v2_backend.h"
#include "common/clock.h"
#include "common/units.h"

namespace penstock {
namespace {

constexpr int kRemoveAttempts = 3;

void keep(Status& first, Status step) {
  if (!is_gone(step)) note_first(first, std::move(step));
}

}  // namespace

// Brings home the threads in the task's loader group. A thread unknown to
// find_home gets every CPU of its task. A task may have tens of thousands of
// threads there: after kMove_ns the rest is left to remove_task_groups(), which
// moves whole processes.
void V2Backend::empty_task(const std::string& task, const FindHome& find_home) {
  auto away = threads_in(loader_dir(task));
  if (!away) return;
  const uint64_t until_ns = monotonic_ns() + kMove_ns;
  for (pid_t tid : *away) {
    if (monotonic_ns() > until_ns) return;
    // The tid may have been reused since the listing.
    auto now = read_thread(*proc_, *sched_, TaskId{tid, 0});
    if (!now || now->groups[""] != loader_dir(task)) continue;
    Home home{now->id, task, task, task, CpuSet{}, SchedPolicy{}, ""};
    if (find_home) {
      const auto found = find_home(tid);
      if (found && found->task.tid == tid && proc_->verify(found->task)) {
        home.affinity = found->affinity;
      }
    }
    (void)bring_home(home);
  }
}

// Moves all processes of our groups back to the task's own group. A fork
// between listing and removal makes the removal fail, hence the attempts.
Status V2Backend::remove_task_groups(const std::string& task) {
  const uint64_t until_ns = monotonic_ns() + kMove_ns;
  const std::string control = task + "/cgroup.subtree_control";
  // -cpu comes first: in a partly emptied home group, threads would share the
  // weight that a single thread has outside.
  (void)fs_->write_file(control, "-cpu");
  Status removed = Done{};
  for (int i = 0; i < kRemoveAttempts; ++i) {
    for (const std::string& group : {loader_dir(task), home_dir(task)}) {
      auto threads = threads_in(group);
      if (threads) (void)move_processes(*threads, group, task, until_ns);
    }
    removed = fs_->remove_dir(loader_dir(task));
    if (removed) removed = fs_->remove_dir(home_dir(task));
    if (removed) break;
  }
  // May fail if the task's group is gone.
  if (removed) (void)fs_->write_file(control, "-cpuset");
  return removed;
}

Status V2Backend::restore_job(const std::string& job,
                              const FindHome& find_home) {
  Status first = Done{};
  std::vector<std::string> levels = {job}, tasks;
  for (const std::string& step : dirs_in(job)) {
    levels.push_back(step);
    levels.push_back(step + "/user");
    for (std::string& task : dirs_in(step + "/user")) {
      tasks.push_back(std::move(task));
    }
  }
  levels.insert(levels.end(), tasks.begin(), tasks.end());
  // Narrow the cpusets first: threads must not come home to lent CPUs.
  for (const std::string& level : levels) {
    if (fs_->read_mark(level, mark(".cpus"))) {
      keep(first, widen(level, CpuSet()));
    }
  }
  for (const std::string& task : tasks) {
    if (!fs_->exists(home_dir(task))) continue;
    empty_task(task, find_home);
    keep(first, remove_task_groups(task));
  }
  keep(first, restore_weight(job));
  keep(first, restore_cpu_limit(job));
  for (const auto& [device, rate] : former_limits(job)) {
    keep(first, restore_limit(job, device));
  }
  if (first) keep(first, fs_->remove_mark(job, mark(".job")));
  return first;
}

bool V2Backend::is_populated(const std::string& group) const {
  auto events = fs_->read_file(group + "/cgroup.events");
  if (events) return keyed_figure(*events, "populated") != 0u;
  // An unreadable group may have processes.
  return events.error().code != Code::kNotFound &&
         events.error().saved_errno != ENODEV;
}

// Other read errors prove nothing: penstockd may have run out of descriptors.
bool V2Backend::has_left_home(const std::string& task) const {
  const auto outside = threads_in(task);
  if (outside && !outside->empty()) return true;
  const auto home = fs_->read_file(home_dir(task) + "/cgroup.type");
  return !home && (home.error().code == Code::kNotFound ||
                   home.error().saved_errno == ENODEV);
}

void V2Backend::forget_ended_tasks(KnownJob& job) {
  for (auto task = job.tasks.begin(); task != job.tasks.end();) {
    const bool alive = is_populated(task->first);
    // Someone else removed the home group or moved a thread out of it. Outside
    // of it, threads could use the widened cpusets above.
    const bool lost = task->second.prepared && has_left_home(task->first);
    if (alive && lost) unprepare(job, task->second);
    if (alive) {
      ++task;
      continue;
    }
    if (task->second.has_groups()) unprepare(job, task->second);
    task = job.tasks.erase(task);
  }
}

Status V2Backend::remove_job(JobId id, const FindHome& find_home) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return Done{};
  for (const auto& [path, task] : found->second.tasks) {
    if (task.has_groups()) left_.try_emplace(task.groups.step);
  }
  KnownJob& job = found->second;
  // Records limits that the site has set since; ours are lifted in any case.
  (void)look_at_limits(job);
  // Keeps refresh() from restoring the loan and the limits.
  job.lent = CpuSet();
  job.limits.clear();
  job.is_over = true;
  Status restored = restore_job(job.path, find_home);
  // Keep the job while something is not restored: the caller retries.
  if (restored || !fs_->exists(job.path)) jobs_.erase(found);
  if (!restored && restored.error().saved_errno == EBUSY) {
    restored.error().code = Code::kUnavailable;
  }
  return restored;
}

Status V2Backend::sweep(const std::set<JobId>& alive,
                        const FindHome& find_home) {
  Status first = Done{};
  // The crashed run may have known scopes that this run has not seen.
  if (alive.empty()) seen_scopes_.merge(find_scopes(/*outside_slices=*/true));
  find_left_steps();
  for (const std::string& job : job_dirs()) {
    auto marked = fs_->read_mark(job, mark(".job"));
    const auto id = marked ? parse_uint(*marked, 0, UINT32_MAX)
                           : Result<uint64_t>(std::move(marked).error());
    if (!id || alive.contains(JobId(*id))) continue;
    Status restored = restore_job(job, find_home);
    if (restored) jobs_.erase(JobId(*id));
    keep(first, std::move(restored));
  }
  if (!alive.empty()) return first;
  for (const std::string& scope : scopes()) {
    if (!fs_->read_mark(scope, mark(".io"))) continue;
    Status disabled = fs_->write_file(scope + "/cgroup.subtree_control", "-io");
    // EBUSY: Slurm has enabled io in its jobs since; leave io to Slurm.
    if (!disabled && disabled.error().saved_errno == EBUSY) disabled = Done{};
    keep(first, std::move(disabled));
    keep(first, fs_->remove_mark(scope, mark(".io")));
  }
  return first;
}

}  // namespace penstock
