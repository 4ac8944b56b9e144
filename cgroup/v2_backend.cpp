#include "cgroup/v2_backend.h"

#include <utility>

#include "cgroup/backend_parts.h"
#include "cgroup/v1_parse.h"
#include "cgroup/v2_attach.h"
#include "cgroup/v2_cpusets.h"
#include "cgroup/v2_layout.h"
#include "cgroup/v2_limit.h"
#include "cgroup/v2_restore.h"
#include "common/clock.h"
#include "common/text_scan.h"
#include "common/units.h"

namespace penstock {
namespace {

Error not_slurms(const Home& home) {
  const std::string& path = home.cpuset_path;
  const std::string process = "process " + std::to_string(home.task.tid) +
                              " is in " + (path.empty() ? "no group" : path);
  if (path.starts_with("/..")) {
    return Error{Code::kUnavailable, 0,
                 process +
                     ", outside of penstockd's cgroup namespace: run penstockd "
                     "in slurmd's namespace, not in a container of its own"};
  }
  return Error{
      Code::kUnavailable, 0,
      process +
          ", which is not the cgroup v2 group of a Slurm task: set "
          "ProctrackType=proctrack/cgroup, and add task/cgroup to TaskPlugin"};
}

}  // namespace

Result<V2Backend> V2Backend::create(const CgroupFs& fs, const ProcReader& proc,
                                    const ThreadSched& sched,
                                    BackendSettings settings) {
  Status named = check_group_name(settings.name);
  if (!named) return std::move(named).error();
  auto controllers = fs.read_file("cgroup.controllers");
  if (!controllers) return std::move(controllers).error();
  for (const char* controller : {"cpu", "cpuset"}) {
    if (has_word(*controllers, controller)) continue;
    return Error{Code::kUnavailable, 0,
                 "the unified hierarchy has no controller " +
                     std::string(controller) +
                     ": boot with systemd.unified_cgroup_hierarchy=1, or "
                     "mount it as cgroup v1 besides cpuset and cpu"};
  }
  return V2Backend(V2Tree{&fs, &proc, &sched, std::move(settings)});
}

Result<V2Backend::Job*> V2Backend::known(JobId job, Code code) {
  const auto found = jobs_.find(job);
  if (found != jobs_.end()) return &found->second;
  return Error{code, 0,
               "job " + std::to_string(job) + " has no task known here"};
}

Result<Home> V2Backend::home_of(const TaskId& task) const {
  auto now = read_thread(*tree_.proc, *tree_.sched, task);
  if (!now) return std::move(now).error();
  if (tree_.is_loader_dir(now->groups[""])) {
    return invalid("thread " + std::to_string(task.tid) +
                   " is away; its home is elsewhere");
  }
  const std::string path = tree_.task_of(now->groups[""]);
  return Home{now->id,
              path,
              path,
              path,
              now->affinity,
              now->policy,
              job_groups_of(now->groups).tracked};
}

JobGroups V2Backend::job_groups_of(const ProcCgroups& groups) const {
  const auto path = groups.find("");
  if (path == groups.end()) return {};
  const auto slurm = slurm_groups_of(path->second);
  if (!slurm) return {};
  return {slurm->job, slurm->job, slurm->job};
}

// cgroup.events also reports a freeze of an ancestor group.
bool V2Backend::is_frozen(const ProcCgroups& groups) const {
  const auto path = groups.find("");
  if (path == groups.end()) return false;
  const auto events = tree_.fs->read_file(path->second + "/cgroup.events");
  return events && keyed_figure(*events, "frozen") == 1u;
}

Status V2Backend::add_task(JobId id, const Home& home) {
  const auto groups = slurm_groups_of(home.cpuset_path);
  if (!groups || groups->task != home.cpuset_path) return not_slurms(home);
  scopes_.add(groups->scope);
  Job& job = jobs_.try_emplace(id, tree_, id, groups->job).first->second;
  if (job.path != groups->job) {
    // Another release of Slurm's names it otherwise, while old tasks run on.
    job.loan.end(left_);
    job.io.end();
    (void)restore_job(tree_, job.path, nullptr);
    job = Job(tree_, id, groups->job);
  }
  return job.loan.add_task(*groups);
}

Status V2Backend::give_way(JobId id) {
  auto job = known(id, Code::kUnavailable);
  if (!job) return std::move(job).error();
  (*job)->loan.give_way();
  return Done{};
}

Status V2Backend::hold_back(JobId id, bool is_held) {
  auto job = known(id, Code::kUnavailable);
  return job ? (*job)->loan.hold_back(is_held) : std::move(job).error();
}

// The borrower yields by its lower weight. The pair needs job groups, and Slurm
// must reserve the lender's CPUs for it.
Status V2Backend::yields_to(const Home& home,
                            std::string_view lender_cpu_path) const {
  const auto borrower = slurm_groups_of(home.cpuset_path);
  const auto lender = slurm_groups_of(lender_cpu_path);
  const Error none{Code::kNotFound, 0, "no CPUs of Slurm's"};
  if (!borrower || !lender) return none;
  auto own = own_cpus(tree_, lender->job);
  if (!own || own->empty()) return none;
  return Done{};
}

Status V2Backend::set_away_cpus(JobId id, const CpuSet& cpus) {
  auto job = known(id, Code::kUnavailable);
  if (job) return (*job)->loan.set_cpus(cpus, left_);
  return cpus.empty() ? Status(Done{}) : Status(std::move(job).error());
}

Status V2Backend::refresh() {
  Status first = Done{};
  const uint64_t until_ns = monotonic_ns() + kMove_ns;
  std::erase_if(jobs_, [this](const auto& known) {
    const Job& job = known.second;
    return job.loan.is_over() && !tree_.fs->exists(job.path);
  });
  for (auto& [id, job] : jobs_) {
    note_first(first, job.io.restore());
    note_first(first, job.loan.refresh(until_ns, left_));
  }
  left_.remove_unused();
  return first;
}

Status V2Backend::send_away(JobId id, const Home& home) {
  const pid_t tid = home.task.tid;
  Status done = tree_.proc->verify(home.task);
  if (!done) return done;
  auto job = known(id, Code::kUnavailable);
  if (!job) return std::move(job).error();
  done = (*job)->loan.prepare(home.cpuset_path, left_);
  if (!done) return done;
  const std::string loader = tree_.loader_dir(home.cpuset_path);
  done = move_loader(tree_, tid, loader, loader);
  if (done) done = tree_.sched->set_widest_affinity(tid);
  return done ? done : not_sent(std::move(done).error(), bring_home(home));
}

Status V2Backend::bring_home(const Home& home) {
  return tree_.bring_home(home);
}

Result<std::set<pid_t>> V2Backend::away_threads(JobId job) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return std::set<pid_t>{};
  return found->second.loan.away_threads();
}

Result<CpuSet> V2Backend::slurm_cpus() const { return scopes_.cpus(); }

Status V2Backend::attach_io(JobId id, const Home& home) {
  Status done = tree_.proc->verify(home.task);
  if (!done) return done;
  auto job = known(id, Code::kNotFound);
  return job ? (*job)->io.require_io() : Status(std::move(job).error());
}

Status V2Backend::set_io_limit(JobId id, std::string_view device,
                               uint64_t rate_bytes_per_s) {
  Status done = check_io_limit(device, rate_bytes_per_s);
  if (!done) return done;
  auto job = known(id, Code::kNotFound);
  if (!job) return std::move(job).error();
  return (*job)->io.set(std::string(device), rate_bytes_per_s);
}

Status V2Backend::clear_io_limit(JobId id, std::string_view device) {
  if (!is_device(device)) return bad_device(device);
  const auto job = jobs_.find(id);
  if (job == jobs_.end()) return Done{};
  return job->second.io.clear(std::string(device));
}

Result<uint64_t> V2Backend::io_read_bytes(JobId id,
                                          std::string_view device) const {
  if (!is_device(device)) return bad_device(device);
  const auto job = jobs_.find(id);
  if (job != jobs_.end()) return job->second.io.read_bytes(device);
  return Error{Code::kUnavailable, 0, "no such job is known here"};
}

Result<uint64_t> V2Backend::cpu_time_ns(std::string_view group,
                                        const char* key) const {
  const std::string file = std::string(group) + "/cpu.stat";
  auto text = tree_.fs->read_file(file);
  if (!text) return std::move(text).error();
  const auto usage_us = keyed_figure(*text, key);
  if (!usage_us) return invalid(file + ": no " + key);
  return *usage_us * 1000;
}

Result<uint64_t> V2Backend::cpu_usage_ns(std::string_view group) const {
  return cpu_time_ns(group, "usage_usec");
}

Result<uint64_t> V2Backend::cpu_user_ns(std::string_view group) const {
  return cpu_time_ns(group, "user_usec");
}

Result<Pressure> V2Backend::pressure(std::string_view group) const {
  Pressure out;
  for (const auto& [name, figure_us] : {std::pair{"/cpu.pressure", &out.cpu_us},
                                        {"/io.pressure", &out.io_us}}) {
    const auto text = tree_.fs->read_file(std::string(group) + name);
    const auto some_us = text ? pressure_some_us(*text) : std::nullopt;
    if (!some_us) {
      return Error{Code::kUnavailable, 0,
                   "no pressure stall information in " + std::string(group)};
    }
    *figure_us = *some_us;
  }
  return out;
}

// Counts the group's descendants, too.
Result<MemoryKills> V2Backend::memory_kills(
    std::string_view memory_path) const {
  const std::string group(memory_path);
  const auto events = tree_.fs->read_file(group + "/memory.events");
  if (!events) return events.error();
  MemoryKills out;
  out.killed = keyed_figure(*events, "oom_kill").value_or(0);
  // The kernel also kills where the machine has no memory left.
  if (keyed_figure(*events, "oom").value_or(0) == 0) return out;
  const auto limit = tree_.fs->read_file(group + "/memory.max");  // or "max"
  out.limit_bytes =
      limit ? keyed_figure("max " + *limit, "max").value_or(0) : 0;
  return out;
}

Result<CpuSet> V2Backend::cpuset_of(const Home& home) const {
  const auto cpus =
      tree_.fs->read_file(home.cpuset_path + "/cpuset.cpus.effective");
  if (!cpus) return cpus.error();
  return CpuSet::parse(*cpus);
}

Status V2Backend::set_cpu_limit(JobId id, const std::vector<Home>&,
                                uint32_t millicores) {
  auto job = known(id, Code::kNotFound);
  if (!job) return std::move(job).error();
  return write_cpu_limit(tree_, id, (*job)->path, millicores);
}

Status V2Backend::clear_cpu_limit(JobId id, const FindHome&) {
  const auto job = jobs_.find(id);
  return job == jobs_.end() ? Status(Done{})
                            : restore_cpu_limit(tree_, job->second.path);
}

Status V2Backend::remove_job(JobId id, const FindHome& find_home) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return Done{};
  Job& job = found->second;
  job.loan.end(left_);
  job.io.end();
  Status restored = restore_job(tree_, job.path, find_home);
  // Keep the job while something is not restored: the caller retries.
  if (restored || !tree_.fs->exists(job.path)) jobs_.erase(found);
  if (!restored && restored.error().saved_errno == EBUSY) {
    restored.error().code = Code::kUnavailable;
  }
  return restored;
}

Status V2Backend::sweep(const std::set<JobId>& alive,
                        const FindHome& find_home) {
  Status first = Done{};
  // The crashed run may have known scopes that this run has not seen.
  if (alive.empty()) scopes_.search_everywhere(first);
  const std::vector<std::string> jobs = scopes_.jobs(first);
  left_.add_marked(jobs, first);
  for (const std::string& job : jobs) {
    auto marked = tree_.fs->read_mark(job, tree_.mark(".job"));
    if (!marked) {
      note_first(first, unless_gone(std::move(marked).error()));
      continue;
    }
    const auto id = parse_uint(*marked, 0, UINT32_MAX);
    if (!id || alive.contains(JobId(*id))) continue;
    Status restored = restore_job(tree_, job, find_home);
    if (restored) jobs_.erase(JobId(*id));
    note_first(first, unless_gone(std::move(restored)));
  }
  if (!alive.empty()) return first;
  for (const std::string& scope : scopes_.all(first)) {
    note_first(first, disable_io(tree_, scope));
  }
  return first;
}

}  // namespace penstock
