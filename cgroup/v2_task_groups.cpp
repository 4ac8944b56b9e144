#include "cgroup/v2_task_groups.h"

#include "cgroup/backend_parts.h"
#include "cgroup/v2_attach.h"
#include "cgroup/v2_cpusets.h"
#include "common/clock.h"

namespace penstock {
namespace {

constexpr const char* kCpus = "/cpuset.cpus";
constexpr const char* kControl = "/cgroup.subtree_control";
constexpr int kMoveRounds = 16;
constexpr int kRemoveAttempts = 3;

// Moves all processes of the task's own group into its home group, so that only
// the loader group can use a wider cpuset above. Processes may fork during the
// move, hence the rounds; a child born in the home group stays there. The home
// group is no cpuset yet, so no move waits (cgroup/attach_lock.h).
//
// On a busy machine one move may take longer than kMove_ns.
Status fill_home(const V2Tree& tree, const std::string& task) {
  const uint64_t until_ns = monotonic_ns() + kMove_ns;
  for (int i = 0; i < kMoveRounds; ++i) {
    auto threads = tree.threads_in(task);
    if (!threads) return std::move(threads).error();
    if (threads->empty()) return Done{};
    if (threads->size() > kMostThreads) {
      return Error{Code::kUnavailable, E2BIG,
                   task + ": more than " + std::to_string(kMostThreads) +
                       " threads, which are too many to move"};
    }
    if (monotonic_ns() > until_ns) {
      return Error{Code::kLimit, EBUSY,
                   task + ": its processes cannot be moved within " +
                       std::to_string(kMostTries) + " times 100 ms"};
    }
    Status moved =
        tree.move_processes(*threads, task, tree.home_dir(task), until_ns);
    if (!moved) return moved;
  }
  // An exiting thread also ends here: the kernel lists it but does not move it.
  return Error{Code::kLimit, EBUSY,
               task +
                   ": its processes start others faster than they can be "
                   "moved"};
}

}  // namespace

Status make_task_groups(const V2Tree& tree, JobId id, const SlurmGroups& task) {
  const std::string home = tree.home_dir(task.task);
  const std::string loader = tree.loader_dir(task.task);
  auto cpus = task_cpus(tree, task);
  if (!cpus) return std::move(cpus).error();
  Status done = tree.mark_job(task.job, id);
  if (done) done = tree.fs->write_mark(task.step, tree.mark(".step"), "1");
  if (done) done = tree.fs->make_dir(home);
  if (done) done = tree.fs->write_file(home + "/cgroup.type", "threaded");
  // +cpu comes after fill_home(): until every thread has moved, the home group
  // would get one thread's weight. For +cpuset see fill_home().
  const auto enable = [&](const char* controller) {
    if (!done) return;
    done = tree.fs->write_file(task.task + kControl, controller);
    // ENOENT here means a missing controller, not a missing group.
    if (is_gone(done)) done.error().code = Code::kUnavailable;
  };
  if (done) done = fill_home(tree, task.task);
  enable("+cpuset");
  if (done) done = tree.fs->write_file(home + kCpus, cpus->to_string());
  enable("+cpu");
  if (done) done = tree.fs->make_dir(loader);
  if (done) done = tree.fs->write_file(loader + "/cgroup.type", "threaded");
  if (done && tree.settings.away_yields) {
    done = tree.fs->write_file(loader + "/cpu.idle", "1");
    if (!done && done.error().code == Code::kNotFound) {  // before Linux 5.15
      done = tree.fs->write_file(loader + "/cpu.weight", "1");
    }
  }
  return done;
}

Status set_loader_cpus(const V2Tree& tree, const std::string& task,
                       const CpuSet& cpus) {
  return cpus_checked(
      tree.fs->write_file(tree.loader_dir(task) + kCpus, cpus.to_string()));
}

// Other read errors prove nothing: penstockd may have run out of descriptors.
bool has_left_home(const V2Tree& tree, const std::string& task) {
  const auto outside = tree.threads_in(task);
  if (outside && !outside->empty()) return true;
  const auto home = tree.fs->read_file(tree.home_dir(task) + "/cgroup.type");
  return !home && is_gone(home.error());
}

// A fork between listing and removal makes the removal fail, hence the
// attempts.
Status remove_task_groups(const V2Tree& tree, const std::string& task) {
  const uint64_t until_ns = monotonic_ns() + kMove_ns;
  const std::string control = task + "/cgroup.subtree_control";
  // -cpu comes first: in a partly emptied home group, threads would share the
  // weight that a single thread has outside.
  (void)tree.fs->write_file(control, "-cpu");
  // Both first: a process may have threads in each.
  for (const std::string& group :
       {tree.loader_dir(task), tree.home_dir(task)}) {
    Status opened = open_group(tree, group);
    if (!opened) return opened;
  }
  Status removed = Done{};
  for (int i = 0; i < kRemoveAttempts; ++i) {
    removed = Done{};
    for (const std::string& group :
         {tree.loader_dir(task), tree.home_dir(task)}) {
      // A user's group of that name was never used.
      const auto owner = tree.fs->owner(group);
      if (owner && *owner != tree.fs->maker()) continue;
      auto threads = tree.threads_in(group);
      if (threads) (void)tree.move_processes(*threads, group, task, until_ns);
      if (removed) removed = tree.fs->remove_dir(group);
    }
    if (removed) break;
  }
  // May fail if the task's group is gone.
  if (removed) (void)tree.fs->write_file(control, "-cpuset");
  return removed;
}

}  // namespace penstock
