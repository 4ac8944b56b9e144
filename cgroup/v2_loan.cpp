#include "cgroup/v2_loan.h"

#include <algorithm>
#include <utility>

#include "cgroup/backend_parts.h"
#include "cgroup/v2_cpusets.h"
#include "cgroup/v2_task_groups.h"
#include "common/clock.h"
#include "common/text_scan.h"

namespace penstock {
namespace {

constexpr const char* kWeight = "/cpu.weight";
// Weight of a borrower; the default is 100. A lower one would leave the
// borrower's home threads almost no CPU against processes outside of Slurm
// (docs/decisions/cgroup.md, 40).
constexpr const char* kBorrowerWeight = "10";
// Of a guest: it has no threads at home, and gives way on its own CPUs, too.
constexpr const char* kGuestWeight = "1";
// Longest time between two tries with one task, in calls of refresh(): 60 s.
constexpr int kLongestPause = 120;
// Calls of refresh() without a new try, after which a half-filled home group is
// removed.
constexpr int kGivenUp = 10;

Error no_controller(const char* controller) {
  return Error{Code::kUnavailable, 0,
               "cgroup v2 controller " + std::string(controller) +
                   " does not reach Slurm's tasks: set ConstrainCores=yes and "
                   "ConstrainRAMSpace=yes in cgroup.conf, with task/cgroup "
                   "among slurm.conf's TaskPlugin, and Delegate=yes in "
                   "slurmd's unit"};
}

Error no_task(const std::string& group) {
  return Error{Code::kUnavailable, 0,
               "its group is " + group +
                   ", not that of a Slurm task: the creator of the group, such "
                   "as a container runtime of root, should leave processes in "
                   "the groups where Slurm put them"};
}

Status check_lendable(const V2Tree& tree, const SlurmGroups& task) {
  if (tree.settings.every_attach_locks) {
    return Error{Code::kUnavailable, 0,
                 "Linux before 6.2 moves a task's processes only with the lock "
                 "of their memory, which their user can hold for ever: boot "
                 "Linux 6.2 or later"};
  }
  auto controllers = tree.fs->read_file(task.task + "/cgroup.controllers");
  if (!controllers) return std::move(controllers).error();
  for (const char* controller : {"cpuset", "cpu"}) {
    if (!has_word(*controllers, controller)) return no_controller(controller);
  }
  Status writable =
      tree.fs->check_writable(task.task + "/cgroup.subtree_control");
  if (!writable) {
    if (is_gone(writable)) return writable;
    return Error{Code::kUnavailable, 0,
                 "Slurm's control groups cannot be written here (" +
                     writable.error().message +
                     "): mount /sys/fs/cgroup read-write where penstockd's "
                     "broker runs"};
  }
  auto cpus = task_cpus(tree, task);
  if (!cpus) return std::move(cpus).error();
  if (!cpus->empty()) return Done{};
  return Error{Code::kUnavailable, 0,
               "Slurm keeps no CPUs apart for its jobs: set "
               "ConstrainCores=yes in cgroup.conf"};
}

}  // namespace

Status V2Loan::add_task(const SlurmGroups& groups) {
  // Some of the groups may have been removed: create all again.
  if (std::exchange(is_over_, false)) {
    for (auto& [path, task] : tasks_) task = Task{task.groups};
  }
  Status lendable = check_lendable(tree_, groups);
  if (lendable) tasks_[groups.task].groups = groups;
  return lendable;
}

std::set<std::string> V2Loan::levels() const {
  std::set<std::string> out;
  for (const auto& [path, task] : tasks_) {
    if (task.prepared) out.merge(task.groups.levels());
  }
  return out;
}

// Order: widen the cpusets above, set the loader groups' CPUs, then narrow the
// cpusets above to the new loan.
Status V2Loan::set_cpus(const CpuSet& cpus, V2LeftSteps& left) {
  forget_ended_tasks(left);
  const std::set<std::string> levels = this->levels();
  Status done = widen_all(tree_, levels, lent_ | cpus);
  if (done && !cpus.empty()) {
    for (const auto& [path, task] : tasks_) {
      if (!task.prepared) continue;
      note_first(done, unless_gone(set_loader_cpus(tree_, path, cpus)));
    }
  }
  if (!done) {
    (void)widen_all(tree_, levels, lent_);
    return done;
  }
  const bool narrower = !(lent_ - cpus).empty();
  lent_ = cpus;
  if (narrower) done = widen_all(tree_, levels, cpus);
  note_first(done, weigh());
  return done;
}

// A task without a loader, such as a short one, gets no groups that Slurm could
// meet when the step ends.
Status V2Loan::prepare(const std::string& path, V2LeftSteps& left) {
  const auto found = tasks_.find(path);
  if (found == tasks_.end()) return no_task(path);
  if (lent_.empty()) {
    return Error{Code::kUnavailable, 0, "no CPUs are lent to its job"};
  }
  Task& task = found->second;
  if (task.prepared) return Done{};
  // The same message as before: a caller that logs each distinct failure once
  // logs this one once.
  if (task.pause > 0) return task.failure;
  const bool is_first = is_first_of_step(task);
  Status done = make_task_groups(tree_, id_, task.groups);
  if (!done && done.error().code == Code::kLimit) {
    task.failure = done.error();
    task.pause = 1;
    if (++task.tries < kMostTries) return done;
    done.error().code = Code::kUnavailable;
  }
  task.tries = 0;
  task.prepared = true;
  if (done) task.next_pause = 1;
  if (done) done = lend_to(task, is_first);
  if (done && tree_.is_populated(path)) return done;
  // The task may have ended meanwhile.
  unprepare(task, left);
  if (done) return Error{Code::kNotFound, ESRCH, path + " has ended"};
  task.next_pause = std::min(2 * task.next_pause, kLongestPause);
  task.pause = task.next_pause;
  task.failure = {Code::kUnavailable, 0, done.error().message};
  return done;
}

bool V2Loan::is_first_of_step(const Task& task) const {
  return std::none_of(tasks_.begin(), tasks_.end(), [&](const auto& other) {
    return other.second.prepared &&
           other.second.groups.user == task.groups.user;
  });
}

Status V2Loan::lend_to(const Task& task, bool is_first) {
  Status done = is_first ? fence_neighbours(task.groups) : Status(Done{});
  if (done) done = widen_all(tree_, task.groups.levels(), lent_);
  if (done) done = set_loader_cpus(tree_, task.groups.task, lent_);
  if (done && is_held_back_) done = limit();
  return done ? weigh() : done;
}

Status V2Loan::hold_back(bool is_held) {
  is_held_back_ = is_held;
  return limit();
}

// The kernel allows no shorter time than 1 ms: of a job with many tasks each
// gets it more rarely, at most once a second.
Status V2Loan::limit() const {
  constexpr uint32_t kLongest_us = 1'000'000;
  uint32_t groups = 0;
  for (const auto& [path, task] : tasks_) groups += task.prepared ? 1 : 0;
  const uint32_t period_us = std::min(kLimitPeriod_us * groups, kLongest_us);
  const std::string quota =
      is_held_back_
          ? std::to_string(limit_quota_us(Backend::kMinLimitMillicores))
          : "max";
  Status done = Done{};
  for (const auto& [path, task] : tasks_) {
    if (!task.prepared) continue;
    note_first(done, unless_gone(tree_.fs->write_file(
                         tree_.loader_dir(path) + "/cpu.max",
                         quota + " " + std::to_string(period_us))));
  }
  return done;
}

// Removes the task's groups, and the widening that no other task needs.
void V2Loan::unprepare(Task& task, V2LeftSteps& left) {
  const std::set<std::string> before = levels();
  task.prepared = false;
  const std::set<std::string> still = levels();
  const bool has_neighbour = still.contains(task.groups.user);
  if (auto cpus = task_cpus(tree_, task.groups); cpus && has_neighbour) {
    (void)fence(tree_, task.groups.task, *cpus);
  }
  for (const std::string& level : before) {
    if (!still.contains(level)) (void)widen(tree_, level, CpuSet());
  }
  (void)remove_task_groups(tree_, task.groups.task);
  if (!has_neighbour) {
    Status unseen = Done{};
    for (const std::string& other : tree_.dirs_in(task.groups.user, unseen)) {
      (void)widen(tree_, other, CpuSet());
    }
  }
  (void)weigh();
  left.add(task.groups.step);
}

void V2Loan::forget_ended_tasks(V2LeftSteps& left) {
  for (auto it = tasks_.begin(); it != tasks_.end();) {
    auto& [path, task] = *it;
    const bool alive = tree_.is_populated(path);
    // Someone else removed the home group or moved a thread out of it. Outside
    // of it, threads could use the widened cpusets above.
    const bool lost = task.prepared && has_left_home(tree_, path);
    if (alive ? lost : task.has_groups()) unprepare(task, left);
    it = alive ? std::next(it) : tasks_.erase(it);
  }
}

Status V2Loan::fence_neighbours(const SlurmGroups& task) const {
  auto cpus = task_cpus(tree_, task);
  if (!cpus) return std::move(cpus).error();
  Status first = Done{};
  for (const std::string& other : tree_.dirs_in(task.user, first)) {
    const auto known = tasks_.find(other);
    if (known != tasks_.end() && known->second.prepared) continue;
    note_first(first, unless_gone(fence(tree_, other, *cpus)));
  }
  return first;
}

Result<std::set<pid_t>> V2Loan::away_threads() const {
  std::set<pid_t> away;
  for (const auto& [path, task] : tasks_) {
    auto threads = tree_.threads_in(tree_.loader_dir(path));
    if (!threads) return threads;
    away.merge(*threads);
  }
  return away;
}

// A borrower gets a lower weight than the lenders, for the time of the loan.
// cpu.idle of the loader group has an effect within its task only.
Status V2Loan::weigh() const {
  auto own = own_cpus(tree_, job_);
  if (!own) return std::move(own).error();
  const bool is_borrower =
      !levels().empty() && (gives_way_ || !(lent_ - *own).empty());
  const char* low = gives_way_ ? kGuestWeight : kBorrowerWeight;
  if (!is_borrower || !tree_.settings.away_yields) {
    return restore_weight(tree_, job_);
  }
  auto text = tree_.fs->read_file(job_ + kWeight);
  if (!text) return std::move(text).error();
  std::string_view rest = *text;
  const std::string weight(take_word(rest));
  if (weight == low) return Done{};
  Status done = tree_.fs->write_mark(job_, tree_.mark(".weight"), weight);
  return done ? tree_.fs->write_file(job_ + kWeight, low) : done;
}

void V2Loan::end(V2LeftSteps& left) {
  for (const auto& [path, task] : tasks_) {
    if (task.has_groups()) left.add(task.groups.step);
  }
  lent_ = CpuSet();
  gives_way_ = false;
  is_held_back_ = false;
  is_over_ = true;
}

// Counts the task's pause down, and removes groups of failed or abandoned
// tries.
void V2Loan::count_pause(const std::string& path, Task& task,
                         uint64_t until_ns) {
  task.pause = std::max(-kGivenUp, task.pause - 1);
  if (task.pause == -kGivenUp) task.tries = 0;
  if (!task.has_groups() && monotonic_ns() < until_ns &&
      tree_.fs->exists(tree_.home_dir(path))) {
    (void)remove_task_groups(tree_, path);
  }
}

// Slurm rewrites a job's cpuset at each new step of the job; systemd and admins
// may write to Slurm's scope.
Status V2Loan::refresh(uint64_t until_ns, V2LeftSteps& left) {
  forget_ended_tasks(left);
  std::set<std::string> fenced;
  for (auto& [path, task] : tasks_) {
    if (task.prepared && !is_over_ && fenced.insert(task.groups.user).second) {
      (void)fence_neighbours(task.groups);
    }
    count_pause(path, task, until_ns);
  }
  const std::set<std::string> levels = this->levels();
  if (levels.empty()) return Done{};
  Status done = widen_all(tree_, levels, lent_);
  note_first(done, unless_gone(weigh()));
  return done;
}

Status restore_weight(const V2Tree& tree, const std::string& job) {
  return tree.restore_marked(job, kWeight, ".weight");
}

}  // namespace penstock
