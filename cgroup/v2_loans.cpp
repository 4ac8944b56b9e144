// What is changed of Slurm's groups so that CPUs can be lent, and how the
// changes are remembered.
#include <algorithm>

#include "cgroup/text_scan.h"
#include "cgroup/v2_backend.h"

namespace penstock {
namespace {

constexpr const char* kCpus = "/cpuset.cpus";
constexpr const char* kWeight = "/cpu.weight";
constexpr const char* kLenderWeight = "10000";  // the highest; 100 is usual
constexpr int kMoveRounds = 16;

bool is_gone(const Status& status) {
  return !status && (status.error().code == Code::kNotFound ||
                     status.error().saved_errno == ENODEV);
}

Result<CpuSet> read_cpus(const CgroupFs& fs, const std::string& file) {
  auto text = fs.read_file(file);
  if (!text) return std::move(text).error();
  std::string_view rest = *text;
  const std::string_view word = take_word(rest);
  return word.empty() ? CpuSet() : CpuSet::parse(word);
}

// What stood in a cpuset, and what we have written there instead.
struct Widened {
  CpuSet own;
  CpuSet wrote;
};

std::string to_text(const Widened& it) {
  return it.own.to_string() + " " + it.wrote.to_string();
}

std::optional<Widened> parse_widened(std::string_view text) {
  const auto own = CpuSet::parse(take_word(text));
  const auto wrote = CpuSet::parse(take_word(text));
  if (!own || !wrote) return std::nullopt;
  return Widened{*own, *wrote};
}

}  // namespace

// Where something else stands than what we wrote, Slurm has rewritten it.
Result<CpuSet> V2Backend::own_cpus(const std::string& group) const {
  auto now = read_cpus(*fs_, group + kCpus);
  if (!now) return now;
  auto marked = fs_->read_mark(group, mark(".cpus"));
  if (!marked) return now;
  const auto widened = parse_widened(*marked);
  return widened && widened->wrote == *now ? widened->own : *now;
}

// Slurm sets cpusets at some levels only; the others have the next one's above.
Result<CpuSet> V2Backend::task_cpus(const SlurmGroups& task) const {
  for (const std::string& level : {task.task, task.user, task.step, task.job}) {
    auto own = own_cpus(level);
    if (!own || !own->empty()) return own;
  }
  return read_cpus(*fs_, task.task + "/cpuset.cpus.effective");
}

Status V2Backend::widen(const std::string& group, const CpuSet& lent) {
  auto now = read_cpus(*fs_, group + kCpus);
  if (!now) return std::move(now).error();
  auto own = own_cpus(group);
  if (!own) return std::move(own).error();
  if (own->empty()) return Done{};
  const CpuSet wanted = *own | lent;
  if (wanted == *own) {
    Status done = Done{};
    if (*now != *own) {
      done = fs_->write_file(group + kCpus, own->to_string());
    }
    return done ? fs_->remove_mark(group, mark(".cpus")) : done;
  }
  if (wanted == *now) return Done{};
  // First the mark: after a crash between the two it says nothing.
  Status done =
      fs_->write_mark(group, mark(".cpus"), to_text(Widened{*own, wanted}));
  if (!done) return done;
  return fs_->write_file(group + kCpus, wanted.to_string());
}

std::set<std::string> V2Backend::KnownJob::levels() const {
  std::set<std::string> out;
  for (const auto& [path, task] : tasks) {
    if (!task.prepared) continue;
    for (std::string& level : task.groups.levels()) {
      out.insert(std::move(level));
    }
  }
  return out;
}

Status V2Backend::widen_all(const KnownJob& job, const CpuSet& lent) {
  Status first = Done{};
  for (const std::string& level : job.levels()) {
    Status done = widen(level, lent);
    if (first && !done && !is_gone(done)) first = std::move(done);
  }
  return first;
}

// Whoever is in the task's own group goes into its home, so that a wider cpuset
// above is nobody's but the loader's. A process may start another meanwhile:
// hence the rounds; what starts in the home stays there.
Status V2Backend::fill_home(const std::string& task) const {
  for (int i = 0; i < kMoveRounds; ++i) {
    auto threads = threads_in(task);
    if (!threads) return std::move(threads).error();
    if (threads->empty()) return Done{};
    Status moved = move_process(*threads->begin(), home_dir(task));
    for (pid_t tid : *threads) {
      if (tid == *threads->begin()) continue;
      // Its process may have been moved with another thread.
      auto groups = proc_->cgroups(tid);
      if (!groups || (*groups)[""] != task) continue;
      Status done = move_process(tid, home_dir(task));
      if (moved && !done && !is_gone(done)) moved = std::move(done);
    }
    if (!moved && !is_gone(moved)) return moved;
  }
  return Error{Code::kUnavailable, EBUSY,
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
  if (done) done = fs_->make_dir(home);
  if (done) done = fs_->write_file(home + "/cgroup.type", "threaded");
  if (done) {
    done =
        fs_->write_file(task.task + "/cgroup.subtree_control", "+cpuset +cpu");
  }
  if (done) done = fs_->write_file(home + kCpus, cpus->to_string());
  if (done) done = fill_home(task.task);
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

// Without the groups, and without the room that only they needed.
void V2Backend::unprepare(KnownJob& job, KnownTask& task) {
  (void)remove_task_groups(task.groups.task);
  const std::set<std::string> before = job.levels();
  task.prepared = false;
  const std::set<std::string> still = job.levels();
  for (const std::string& level : before) {
    if (!still.contains(level)) (void)widen(level, CpuSet());
  }
  ended_steps_.emplace(task.groups.step, 0);
}

// When the first thread of a task is to go: a task that has no loader, such as
// one that ends at once, gets no groups that could be in Slurm's way.
Status V2Backend::prepare(JobId id, KnownJob& job, KnownTask& task) {
  Status done = make_task_groups(id, task.groups);
  task.prepared = true;
  if (done) done = widen_all(job, job.lent);
  if (done) done = set_loader_cpus(job, job.lent);
  if (done) done = favour_lenders();
  if (done && is_populated(task.groups.task)) return done;
  // The task may have ended meanwhile.
  unprepare(job, task);
  if (!done) return done;
  return Error{Code::kNotFound, ESRCH, task.groups.task + " has ended"};
}

Status V2Backend::set_loader_cpus(const KnownJob& job,
                                  const CpuSet& cpus) const {
  Status first = Done{};
  for (const auto& [path, task] : job.tasks) {
    if (!task.prepared) continue;
    Status done = fs_->write_file(loader_dir(path) + kCpus, cpus.to_string());
    const int why = done ? 0 : done.error().saved_errno;
    if (why == EACCES || why == EINVAL || why == ERANGE) {
      done.error().code = Code::kInvalidArgument;
    }
    if (first && !done && !is_gone(done)) first = std::move(done);
  }
  return first;
}

bool V2Backend::KnownJob::any_prepared() const {
  return std::any_of(tasks.begin(), tasks.end(),
                     [](const auto& it) { return it.second.prepared; });
}

// First there is room, then whoever is away moves, then the room is closed.
Status V2Backend::set_away_cpus(JobId id, const CpuSet& cpus) {
  auto found = known(id);
  if (!found) {
    return cpus.empty() ? Status(Done{}) : Status(std::move(found).error());
  }
  KnownJob& job = **found;
  Status done = widen_all(job, job.lent | cpus);
  if (done && !cpus.empty()) done = set_loader_cpus(job, cpus);
  if (!done) {
    (void)widen_all(job, job.lent);
    return done;
  }
  const bool narrower = !(job.lent - cpus).empty();
  job.lent = cpus;
  if (narrower) done = widen_all(job, cpus);
  Status favoured = favour_lenders();
  return done ? favoured : done;
}

bool V2Backend::yields_to(const Home& home,
                          std::string_view lender_cpu_path) const {
  const auto borrower = slurm_groups_of(home.cpuset_path);
  const auto lender = slurm_groups_of(lender_cpu_path);
  if (!borrower || !lender) return false;
  if (!settings_.away_yields) return true;
  // A weight counts for all of a job: who lends cannot borrow meanwhile.
  if (favoured_.contains(borrower->job)) return false;
  for (const auto& [id, job] : jobs_) {
    if (job.path == lender->job && !job.lent.empty()) return false;
  }
  return true;
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

// Whose CPUs are lent to another job has the weight to take them back at once.
Status V2Backend::favour_lenders() {
  if (!settings_.away_yields) return Done{};
  CpuSet lent;
  std::set<std::string> borrowers;
  for (const auto& [id, job] : jobs_) {
    if (job.lent.empty() || !job.any_prepared()) continue;
    lent = lent | job.lent;
    borrowers.insert(job.path);
  }
  Status first = Done{};
  std::set<std::string> lenders;
  if (!lent.empty()) {
    for (const std::string& job : job_dirs()) {
      auto own = own_cpus(job);
      if (borrowers.contains(job) || !own || (*own & lent).empty()) continue;
      lenders.insert(job);
    }
  }
  for (const std::string& job : lenders) {
    if (favoured_.contains(job)) continue;
    auto weight = fs_->read_file(job + kWeight);
    Status done = weight ? fs_->write_mark(job, mark(".weight"), *weight)
                         : Status(std::move(weight).error());
    if (done) done = fs_->write_file(job + kWeight, kLenderWeight);
    if (done) favoured_.insert(job);
    if (first && !done && !is_gone(done)) first = std::move(done);
  }
  for (const std::string& job : std::set(favoured_)) {
    if (lenders.contains(job)) continue;
    favoured_.erase(job);
    Status done = restore_weight(job);
    if (first && !done) first = std::move(done);
  }
  return first;
}

// A new step of a job makes Slurm write the job's cpuset anew.
Status V2Backend::refresh() {
  Status first = Done{};
  for (auto& [id, job] : jobs_) {
    forget_ended_tasks(job);
    if (job.lent.empty()) continue;
    Status done = widen_all(job, job.lent);
    if (first && !done) first = std::move(done);
  }
  remove_what_slurm_left();
  return first;
}

}  // namespace penstock
