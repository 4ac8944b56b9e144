#include "tests/model/node_checks.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "tests/model/calls.h"

namespace penstock::model {
namespace {

constexpr uint64_t kSampleJumps = 1;  // seconds that count at most for a look
// The first rests fill caches and pools of the C library.
constexpr size_t kFirstRests = 3;
// ReportQueue keeps up to 512 reports of a few KiB while none can be written,
// and four LatencyRecord fill slowly.
constexpr size_t kHeapSlack_bytes = 4 << 20;
// In these a thread has been away.
constexpr uint64_t kStepsToLoan = 20000;

bool is_ours(const std::string& path) {
  return path.starts_with("/penstock/") || path.starts_with("/penstock_limit/");
}

uint32_t job_of(const std::string& path) {
  const size_t at = path.find("/job_");
  return at == path.npos ? 0 : uint32_t(std::atoi(path.c_str() + at + 5));
}

size_t open_fds() {
  return size_t(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

}  // namespace

void NodeChecks::doubt(bool holds, std::string what) {
  if (holds) return;
  const auto [found, is_new] = doubts_.try_emplace(std::move(what));
  Doubt& doubt = found->second;
  doubt.is_seen = true;
  if (is_new) doubt.counted_s = facts_.now_s;
  if (facts_.now_s - doubt.counted_s < kSampleJumps) return;
  doubt.counted_s = facts_.now_s;
  ++doubt.seconds;
  trial_.must(doubt.seconds <= kGrace_s, "{}, for {} s", found->first,
              doubt.seconds);
}

void NodeChecks::look() {
  if (facts_.kernel.has_faults()) return doubts_.clear();
  for (auto& [what, doubt] : doubts_) doubt.is_seen = false;
  for (const auto& [tid, thread] : facts_.kernel.threads()) {
    const std::string slurms = facts_.kernel.group_of(thread, "freezer");
    const auto job = facts_.jobs.find(job_of(slurms));
    const bool is_known = job != facts_.jobs.end();
    if (is_ours(facts_.kernel.group_of(thread, "cpuset"))) {
      look_at_away(tid, thread, is_known ? &job->second : nullptr);
    } else if (is_known) {
      look_at_home(tid, thread, job->second);
    }
  }
  look_at_groups();
  std::erase_if(doubts_,
                [](const auto& entry) { return !entry.second.is_seen; });
}

// A thread on lent CPUs yields to their owners, who agreed to lend them.
void NodeChecks::look_at_away(pid_t tid, const Thread& thread,
                              const SimJob* job) {
  const Kernel& kernel = facts_.kernel;
  const uint32_t id = job_of(kernel.group_of(thread, "cpuset"));
  has_seen_loan_ = true;
  doubt(job != nullptr && job->id == id,
        fmt::format("thread {} is in the group of job {}", tid, id));
  doubt(!facts_.is_off,
        fmt::format("thread {} is away while Penstock is off", tid));
  const bool yields =
      kernel.mounts().cpu_with_cpuacct()
          ? thread.policy.policy == SCHED_IDLE
          : kernel.group_of(thread, "cpu") ==
                    fmt::format("/penstock/job_{}", id) &&
                kernel.groups().at("cpu/penstock").files.at("cpu.idle") == "1";
  doubt(yields, fmt::format("thread {} is away and does not yield", tid));
  if (job == nullptr) return;
  for (int cpu : thread.affinity.cpus()) {
    doubt(may_use(*job, cpu),
          fmt::format("job {} uses CPU {} without consent", job->id, cpu));
  }
}

bool NodeChecks::lends_to(const SimJob& owner, const SimJob& borrower) const {
  if (!facts_.manages(owner) || owner.limited_until_s > facts_.now_s) {
    return false;
  }
  const bool same_user = owner.uid == borrower.uid;
  switch (facts_.config.lend_across) {
    case LendAcross::kAny:
      return true;
    case LendAcross::kUser:
      return same_user;
    case LendAcross::kAccount:
      return owner.account.empty() && borrower.account.empty()
                 ? same_user
                 : owner.account == borrower.account;
  }
  return false;
}

bool NodeChecks::may_use(const SimJob& borrower, int cpu) const {
  if (borrower.cpus.contains(cpu)) return true;
  if (!facts_.manages(borrower) || borrower.limited_until_s > facts_.now_s) {
    return false;
  }
  bool is_owned = false;
  for (const auto& [id, job] : facts_.jobs) {
    if (!job.cpus.contains(cpu) || !facts_.is_alive(job)) continue;
    is_owned = true;
    if (!lends_to(job, borrower)) return false;
  }
  if (is_owned) return true;
  return facts_.config.lend_idle &&
         CpuSet::parse(facts_.config.managed_cpus)->contains(cpu);
}

// A thread at home has what Slurm and its user gave it.
void NodeChecks::look_at_home(pid_t tid, const Thread& thread,
                              const SimJob& job) {
  const Kernel& kernel = facts_.kernel;
  if (thread.is_displaced) return;
  const std::string cpu = kernel.group_of(thread, "cpu");
  const bool is_limited = cpu.starts_with("/penstock_limit/");
  doubt(!is_limited ||
            (job_of(cpu) == job.id && job.limited_until_s > facts_.now_s),
        fmt::format("thread {} is limited", tid));
  doubt(is_limited || !is_ours(cpu),
        fmt::format("thread {} is at home and yields", tid));
  doubt(thread.policy.policy == SCHED_OTHER,
        fmt::format("thread {} is at home with policy {}", tid,
                    thread.policy.policy));
  doubt(kernel.group_of(thread, "cpuset") == job.group,
        fmt::format("thread {} is at home in {}", tid,
                    kernel.group_of(thread, "cpuset")));
  // Threads that penstockd did not know get a mask by their process's or job's.
  if (job.has_masks && (thread.is_unsure || job.threads > 0)) return;
  // With --loader-threads its loader and trainer have a part each. An orphan
  // keeps its part.
  const bool may_split =
      job.threads > 0 && ((!facts_.is_off && facts_.manages(job)) ||
                          !facts_.is_in_task(job, thread.pid));
  const CpuSet& chosen = thread.chosen ? *thread.chosen : job.cpus;
  doubt(may_split || thread.affinity == chosen,
        fmt::format("thread {} of job {} has CPUs {} instead of {}", tid,
                    job.id, thread.affinity.to_string(), chosen.to_string()));
}

// Groups, limits and masks end with their job.
void NodeChecks::look_at_groups() {
  for (const auto& [path, group] : facts_.kernel.groups()) {
    const std::string below =
        path.substr(std::min(path.find('/'), path.size()));
    if (!(below + "/").starts_with("/penstock")) continue;
    const uint32_t id = job_of(below);
    if (id == 0) {
      doubt(std::any_of(
                facts_.jobs.begin(), facts_.jobs.end(),
                [&](const auto& job) { return facts_.is_alive(job.second); }),
            fmt::format("{} is left", path));
      continue;
    }
    const auto job = facts_.jobs.find(id);
    doubt(job != facts_.jobs.end() && facts_.is_alive(job->second) &&
              facts_.manages(job->second),
          fmt::format("{} is left", path));
    doubt(below.starts_with("/penstock/") || job == facts_.jobs.end() ||
              job->second.limited_until_s > facts_.now_s,
          fmt::format("{} is left", path));
  }
}

void NodeChecks::look_at_start(const SimJob& job, pid_t pid) {
  const auto task = facts_.kernel.threads().find(pid);
  if (facts_.kernel.has_faults() || task == facts_.kernel.threads().end()) {
    return;
  }
  const CpuSet& cpus = task->second.affinity;
  for (const auto& [tid, thread] : facts_.kernel.threads()) {
    const std::string group = facts_.kernel.group_of(thread, "cpuset");
    if (!is_ours(group) || job_of(group) == job.id) continue;
    // At the end of a loan they run on their own CPUs, which jobs may share.
    const auto own = facts_.jobs.find(job_of(group));
    const CpuSet lent = own == facts_.jobs.end()
                            ? thread.affinity
                            : thread.affinity - own->second.cpus;
    trial_.must((lent & cpus).empty(),
                "task {} of job {} has started, and thread {} of job {} uses "
                "CPUs {} of its {}",
                pid, job.id, tid, job_of(group), thread.affinity.to_string(),
                cpus.to_string());
  }
}

void NodeChecks::look_at_rest() {
  for (const auto& [path, group] : facts_.kernel.groups()) {
    trial_.must(path.find("/penstock") == path.npos, "{} is left at rest",
                path);
  }
  const size_t heap = live_bytes;
  const size_t fds = open_fds();
  if (++rests_ <= kFirstRests) {
    heap_bytes_ = std::max(heap_bytes_, heap);
    fds_ = std::max(fds_, fds);
    return;
  }
  trial_.must(heap <= heap_bytes_ + kHeapSlack_bytes,
              "{} bytes of heap are in use at rest; {} were before", heap,
              heap_bytes_);
  trial_.must(fds <= fds_, "{} descriptors are open at rest; {} were before",
              fds, fds_);
}

// A part that penstockd cannot read would keep it from doing anything.
void NodeChecks::look_at_end() const {
  trial_.must(has_seen_loan_ || trial_.steps() < kStepsToLoan,
              "no thread was ever away");
}

}  // namespace penstock::model
