// Taking back what was made and changed, and what a crashed run left behind.
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

// For a thread that nobody knows: every CPU of its task's. A user may have had
// tens of thousands born away: whom time does not suffice for, goes with its
// process later.
void V2Backend::empty_task(const std::string& task, const FindHome& find_home) {
  auto away = threads_in(loader_dir(task));
  if (!away) return;
  const uint64_t until_ns = monotonic_ns() + kMove_ns;
  for (pid_t tid : *away) {
    if (monotonic_ns() > until_ns) return;
    // Its number may be another's by now.
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

// Whoever is in our groups goes back to the task's own; a fork may come
// between, hence the attempts.
Status V2Backend::remove_task_groups(const std::string& task) {
  const uint64_t until_ns = monotonic_ns() + kMove_ns;
  const std::string control = task + "/cgroup.subtree_control";
  // First: in a home that is half empty nobody may weigh less than outside.
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
  // A task's group that has ended needs none.
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
  // First the room is closed: nobody comes home to more than is theirs.
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
  // What cannot be read may well have processes.
  return events.error().code != Code::kNotFound &&
         events.error().saved_errno != ENODEV;
}

// What cannot be read tells nothing: without descriptors nobody has moved.
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
    // Another hand than ours has removed the groups, or taken somebody out of
    // the home: without it the room above would be everyone's.
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
  (void)look_at_limits(job);  // ours is lifted in any case
  // refresh() is not to bring it back.
  job.lent = CpuSet();
  job.limits.clear();
  job.is_over = true;
  Status restored = restore_job(job.path, find_home);
  // What could not be given back is known on: the caller asks again.
  if (restored || !fs_->exists(job.path)) jobs_.erase(found);
  if (!restored && restored.error().saved_errno == EBUSY) {
    restored.error().code = Code::kUnavailable;
  }
  return restored;
}

Status V2Backend::sweep(const std::set<JobId>& alive,
                        const FindHome& find_home) {
  Status first = Done{};
  // What was left may be of a run that knew more places.
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
    // Slurm has enabled it in its jobs by now: it is Slurm's.
    if (!disabled && disabled.error().saved_errno == EBUSY) disabled = Done{};
    keep(first, std::move(disabled));
    keep(first, fs_->remove_mark(scope, mark(".io")));
  }
  return first;
}

}  // namespace penstock
