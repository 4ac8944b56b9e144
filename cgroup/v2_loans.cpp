// Loans: the groups inside a task's group, the widened cpusets above them, and
// the borrower's weight.
#include <algorithm>

#include "cgroup/backend_parts.h"
#include "cgroup/text_scan.h"
#include "cgroup/v2_backend.h"
#include "common/clock.h"

namespace penstock {
namespace {

constexpr const char* kCpus = "/cpuset.cpus";
constexpr const char* kControl = "/cgroup.subtree_control";
constexpr const char* kWeight = "/cpu.weight";
// Weight of a borrower; the default is 100. A lower one would leave the
// borrower's home threads almost no CPU against processes outside of Slurm
// (docs/decisions/cgroup.md, 40).
constexpr const char* kBorrowerWeight = "10";
constexpr int kMoveRounds = 16;
// Longest time between two tries with one task, in calls of refresh(): 60 s.
constexpr int kLongestPause = 120;
constexpr int kMostTries = 10;  // to fill one home group, half a second apart
// Calls of refresh() without a new try, after which a half-filled home group is
// removed.
constexpr int kGivenUp = 10;

// First word of a file: "10" of "10\n".
Result<std::string> read_word(const CgroupFs& fs, const std::string& file) {
  auto text = fs.read_file(file);
  if (!text) return text;
  std::string_view rest = *text;
  return std::string(take_word(rest));
}

}  // namespace

std::set<std::string> V2Backend::KnownJob::levels() const {
  std::set<std::string> out;
  for (const auto& [name, task] : tasks) {
    if (!task.prepared) continue;
    out.merge(task.groups.levels());
  }
  return out;
}

Status V2Backend::widen_all(const std::set<std::string>& levels,
                            const CpuSet& lent) {
  Status first = Done{};
  for (const std::string& level : levels) {
    Status done = widen(level, lent);
    if (first && !done && !is_gone(done)) first = std::move(done);
  }
  return first;
}

// Moves all processes of the task's own group into its home group, so that only
// the loader group can use a wider cpuset above. Processes may fork during the
// move, hence the rounds; a child born in the home group stays there.
//
// After kMove_ns it returns kLimit, and prepare() continues at the next call.
// On a busy machine one move may take longer than kMove_ns.
Status V2Backend::fill_home(const std::string& task) const {
  const uint64_t until_ns = monotonic_ns() + kMove_ns;
  for (int i = 0; i < kMoveRounds; ++i) {
    auto threads = threads_in(task);
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
    Status moved = move_processes(*threads, task, home_dir(task), until_ns);
    if (!moved) return moved;
  }
  // An exiting thread also ends here: the kernel lists it but does not move it.
  return Error{Code::kLimit, EBUSY,
               task +
                   ": its processes start others faster than they can be "
                   "moved"};
}

Status V2Backend::make_task_groups(JobId id, const SlurmGroups& task) {
  const std::string home = home_dir(task.task);
  const std::string loader = loader_dir(task.task);
  auto cpus = task_cpus(task);
  if (!cpus) return std::move(cpus).error();
  Status done = fs_->write_mark(task.job, mark(".job"), std::to_string(id));
  if (done) done = fs_->write_mark(task.step, mark(".step"), "1");
  if (done) done = fs_->make_dir(home);
  if (done) done = fs_->write_file(home + "/cgroup.type", "threaded");
  // +cpu comes after fill_home(): until every thread has moved, the home group
  // would get one thread's weight.
  const auto enable = [&](const char* controller) {
    if (!done) return;
    done = fs_->write_file(task.task + kControl, controller);
    // ENOENT here means a missing controller, not a missing group.
    if (is_gone(done)) done.error().code = Code::kUnavailable;
  };
  enable("+cpuset");
  if (done) done = fs_->write_file(home + kCpus, cpus->to_string());
  if (done) done = fill_home(task.task);
  enable("+cpu");
  if (done) done = fs_->make_dir(loader);
  if (done) done = fs_->write_file(loader + "/cgroup.type", "threaded");
  if (done && settings_.away_yields) {
    done = fs_->write_file(loader + "/cpu.idle", "1");
    if (!done && done.error().code == Code::kNotFound) {  // before Linux 5.15
      done = fs_->write_file(loader + kWeight, "1");
    }
  }
  return done;
}

// Removes the task's groups, and the widening that no other task needs.
void V2Backend::unprepare(KnownJob& job, KnownTask& task) {
  const std::set<std::string> before = job.levels();
  task.prepared = false;
  const std::set<std::string> still = job.levels();
  if (auto cpus = task_cpus(task.groups);
      cpus && still.contains(task.groups.user)) {
    (void)fence(task.groups.task, *cpus);
  }
  for (const std::string& level : before) {
    if (!still.contains(level)) (void)widen(level, CpuSet());
  }
  (void)remove_task_groups(task.groups.task);
  if (!still.contains(task.groups.user)) {
    for (const std::string& other : dirs_in(task.groups.user)) {
      (void)widen(other, CpuSet());
    }
  }
  (void)weigh(job);
  left_.try_emplace(task.groups.step);
}

// Runs when the task's first thread goes away. A task without a loader, such as
// a short one, thus gets no groups that Slurm could meet when the step ends.
Status V2Backend::prepare(JobId id, KnownJob& job, KnownTask& task) {
  // The same message as before: a caller that logs each distinct failure once
  // logs this one once.
  if (task.pause > 0) return task.failure;
  const bool is_first =
      std::none_of(job.tasks.begin(), job.tasks.end(), [&](const auto& other) {
        return other.second.prepared &&
               other.second.groups.user == task.groups.user;
      });
  Status done = make_task_groups(id, task.groups);
  if (!done && done.error().code == Code::kLimit) {
    task.failure = done.error();
    task.pause = 1;
    if (++task.tries < kMostTries) return done;
    done.error().code = Code::kUnavailable;
  }
  task.tries = 0;
  task.prepared = true;
  if (done) task.next_pause = 1;
  if (done && is_first) done = fence_neighbours(job, task.groups);
  if (done) done = widen_all(task.groups.levels(), job.lent);
  if (done) done = set_loader_cpus(task.groups.task, job.lent);
  if (done) done = weigh(job);
  if (done && is_populated(task.groups.task)) return done;
  // The task may have ended meanwhile.
  unprepare(job, task);
  if (!done) {
    task.next_pause = std::min(2 * task.next_pause, kLongestPause);
    task.pause = task.next_pause;
    task.failure = {Code::kUnavailable, 0, done.error().message};
    return done;
  }
  return Error{Code::kNotFound, ESRCH, task.groups.task + " has ended"};
}

Status V2Backend::set_loader_cpus(const std::string& task,
                                  const CpuSet& cpus) const {
  Status done = fs_->write_file(loader_dir(task) + kCpus, cpus.to_string());
  const int why = done ? 0 : done.error().saved_errno;
  if (why == EACCES || why == EINVAL || why == ERANGE) {
    done.error().code = Code::kInvalidArgument;
  }
  return done;
}

// Order: widen the cpusets above, set the loader groups' CPUs, then narrow the
// cpusets above to the new loan.
Status V2Backend::set_away_cpus(JobId id, const CpuSet& cpus) {
  auto found = known(id);
  if (!found) {
    return cpus.empty() ? Status(Done{}) : Status(std::move(found).error());
  }
  KnownJob& job = **found;
  forget_ended_tasks(job);
  const std::set<std::string> levels = job.levels();
  Status done = widen_all(levels, job.lent | cpus);
  if (done && !cpus.empty()) {
    for (const auto& [path, task] : job.tasks) {
      if (!task.prepared) continue;
      Status set = set_loader_cpus(path, cpus);
      if (!is_gone(set)) note_first(done, std::move(set));
    }
  }
  if (!done) {
    (void)widen_all(levels, job.lent);
    return done;
  }
  const bool narrower = !(job.lent - cpus).empty();
  job.lent = cpus;
  if (narrower) done = widen_all(levels, cpus);
  Status weighed = weigh(job);
  return done ? weighed : done;
}

// The borrower yields by its lower weight. The pair needs job groups, and Slurm
// must reserve the lender's CPUs for it.
Status V2Backend::yields_to(const Home& home,
                            std::string_view lender_cpu_path) const {
  const auto borrower = slurm_groups_of(home.cpuset_path);
  const auto lender = slurm_groups_of(lender_cpu_path);
  const Error none{Code::kNotFound, 0, "no CPUs of Slurm's"};
  if (!borrower || !lender) return none;
  auto own = own_cpus(lender->job);
  if (!own || own->empty()) return none;
  return Done{};
}

Status V2Backend::restore_weight(const std::string& job) {
  auto marked = fs_->read_mark(job, mark(".weight"));
  if (!marked) {
    return marked.error().code == Code::kNotFound
               ? Status(Done{})
               : Status(std::move(marked).error());
  }
  Status done = fs_->write_file(job + kWeight, *marked);
  if (done) done = fs_->remove_mark(job, mark(".weight"));
  return is_gone(done) ? Status(Done{}) : done;
}

// A borrower gets a lower weight than the lenders, for the time of the loan.
// cpu.idle of the loader group has an effect within its task only.
Status V2Backend::weigh(const KnownJob& job) {
  auto own = own_cpus(job.path);
  if (!own) return std::move(own).error();
  const bool is_borrower = !job.levels().empty() && !(job.lent - *own).empty();
  if (!is_borrower || !settings_.away_yields) return restore_weight(job.path);
  auto weight = read_word(*fs_, job.path + kWeight);
  if (!weight) return std::move(weight).error();
  if (*weight == kBorrowerWeight) return Done{};
  Status done = fs_->write_mark(job.path, mark(".weight"), *weight);
  return done ? fs_->write_file(job.path + kWeight, kBorrowerWeight) : done;
}

// Slurm rewrites a job's cpuset at each new step of the job; systemd and admins
// may write to Slurm's scope.
Status V2Backend::refresh() {
  Status first = Done{};
  const uint64_t until_ns = monotonic_ns() + kMove_ns;
  std::erase_if(jobs_, [this](const auto& known) {
    return known.second.is_over && !fs_->exists(known.second.path);
  });
  for (auto& [id, job] : jobs_) {
    forget_ended_tasks(job);
    note_first(first, restore_limits(id, job));
    std::set<std::string> fenced;
    for (auto& [path, task] : job.tasks) {
      task.pause = std::max(-kGivenUp, task.pause - 1);
      if (task.pause == -kGivenUp) task.tries = 0;
      if (task.prepared && !job.is_over &&
          fenced.insert(task.groups.user).second) {
        (void)fence_neighbours(job, task.groups);
      }
      // Groups left by failed or abandoned tries.
      if (!task.prepared && task.tries == 0 && monotonic_ns() < until_ns &&
          fs_->exists(home_dir(path))) {
        (void)remove_task_groups(path);
      }
    }
    const std::set<std::string> levels = job.levels();
    if (levels.empty()) continue;
    Status done = widen_all(levels, job.lent);
    Status weighed = weigh(job);
    if (done) done = std::move(weighed);
    if (first && !done && !is_gone(done)) first = std::move(done);
  }
  remove_what_slurm_left();
  return first;
}

}  // namespace penstock
