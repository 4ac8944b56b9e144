// Removes a job's groups, also those that a crashed run left behind.
#include <algorithm>
#include <utility>

#include "cgroup/backend_parts.h"
#include "cgroup/v1_backend.h"
#include "cgroup/v1_parse.h"

namespace penstock {
namespace {

constexpr const char* kOurControllers[] = {"cpuset", "cpu", "blkio"};
constexpr int kRemoveAttempts = 3;
constexpr int kAncestors = 8;

}  // namespace

// The home of the process's main thread or of its nearest ancestor process that
// is not away; the root groups if there is none among kAncestors processes.
Home V1Backend::ancestors_home(pid_t tid) const {
  auto status = proc_->status(tid);
  pid_t candidate = status ? status->tgid : 0;
  for (int i = 0; i < kAncestors && candidate > 0; ++i) {
    auto home = home_of(TaskId{candidate, 0});
    if (home && candidate != tid) return *home;
    auto stat = proc_->stat(candidate);
    candidate = stat ? stat->ppid : 0;
  }
  return Home{TaskId{}, "/", "/", "/", CpuSet{}, SchedPolicy{}, ""};
}

// For a thread in our groups that find_home does not know.
Home V1Backend::guess_home(pid_t tid) const {
  Home home = ancestors_home(tid);
  home.task = TaskId{tid, 0};
  home.blkio_path = std::string("/");
  auto own = proc_->cgroups(tid);
  if (!own) return home;
  // A crash may have interrupted the way home: keep groups that are not ours.
  const std::string& cpu = (*own)["cpu"];
  if (!cpu.empty() && !tree_.is_ours(cpu)) home.cpu_path = cpu;
  const std::string& cpuset = (*own)["cpuset"];
  if (!cpuset.empty() && !tree_.is_ours(cpuset)) {
    home.cpuset_path = cpuset;
    home.affinity = sched_->affinity(tid).value_or(CpuSet{});
    return home;
  }
  // An orphan's ancestor is init, whose home is not Slurm's group. The freezer
  // path gives that group: Slurm uses the same names in both hierarchies, and
  // we never change the freezer.
  const std::string& freezer = (*own)["freezer"];
  if (home.cpuset_path == "/" && !freezer.empty() &&
      tree_.fs->exists(tree_.at("cpuset", freezer) + "/tasks")) {
    home.cpuset_path = freezer;
    home.affinity = CpuSet{};
  }
  return home;
}

Home V1Backend::find_or_guess(pid_t tid, const FindHome& find_home) const {
  auto known = verified_home(tid, find_home, *proc_);
  if (known) return *std::move(known);
  return guess_home(tid);
}

Status V1Backend::empty_groups(JobId job, const FindHome& find_home) {
  auto away = tree_.members(job, "cpuset");
  if (!away) return away.error();
  if (tree_.own_cpu_group()) {
    auto more = tree_.members(job, "cpu");
    if (!more) return more.error();
    away->merge(*more);
  }
  auto attached = tree_.members(job, "blkio");
  if (!attached) return attached.error();
  Status first = Done{};
  auto keep = [&first](Status step) {
    if (first && !step && step.error().code != Code::kNotFound) first = step;
  };
  for (pid_t tid : *away) keep(bring_home(find_or_guess(tid, find_home)));
  for (pid_t tid : *attached) {
    keep(tree_.move_home(tid, "blkio", find_or_guess(tid, find_home).blkio_path,
                         "/tasks"));
  }
  return first;
}

Status V1Backend::remove_groups(JobId job) {
  Status first = Done{};
  for (const char* controller : kOurControllers) {
    if (!tree_.require(controller)) continue;
    note_first(first, tree_.fs->remove_dir(
                          tree_.at(controller, tree_.job_group(job))));
  }
  return first;
}

void V1Backend::remove_parents() {
  const auto remove_if_empty = [&](const std::string& parent) {
    auto jobs = tree_.fs->list_dirs(parent);
    if (jobs && jobs->empty()) (void)tree_.fs->remove_dir(parent);
  };
  for (const char* controller : kOurControllers) {
    if (tree_.require(controller))
      remove_if_empty(tree_.at(controller, tree_.parent_group()));
  }
  remove_if_empty(tree_.at("cpu", tree_.limit_parent()));
}

// A thread may fork between listing and removal, hence the attempts.
Status V1Backend::remove_job(JobId job, const FindHome& find_home) {
  const Status unlimited = clear_cpu_limit(job, find_home);
  Status removed = Done{};
  for (int i = 0; i < kRemoveAttempts; ++i) {
    Status emptied = empty_groups(job, find_home);
    removed = remove_groups(job);
    if (removed) break;
    if (!emptied) removed = emptied;
  }
  if (!removed) note_first(removed, keep_on_home_cpus(job));
  remove_parents();
  note_first(removed, unlimited);
  if (!removed && removed.error().saved_errno == EBUSY) {
    removed.error().code = Code::kUnavailable;
  }
  return removed;
}

Status V1Backend::sweep(const std::set<JobId>& alive,
                        const FindHome& find_home) {
  std::set<JobId> found;
  Status first = Done{};
  const auto find_in = [&](const std::string& parent) {
    auto names = tree_.fs->list_dirs(parent);
    if (!names) return note_first(first, unless_gone(names.error()));
    for (const std::string& name : *names) {
      if (auto job = parse_job_dir(name)) found.insert(*job);
    }
  };
  for (const char* controller : kOurControllers) {
    if (tree_.require(controller))
      find_in(tree_.at(controller, tree_.parent_group()));
  }
  find_in(tree_.at("cpu", tree_.limit_parent()));
  for (JobId job : found) {
    if (alive.contains(job)) continue;
    note_first(first, remove_job(job, find_home));
  }
  remove_parents();
  return first;
}

}  // namespace penstock
