#include "cgroup/v2_backend.h"

#include <utility>

#include "cgroup/backend_parts.h"
#include "cgroup/text_scan.h"
#include "common/clock.h"

namespace penstock {
namespace {

constexpr const char* kProcs = "/cgroup.procs";
constexpr const char* kThreads = "/cgroup.threads";

Error no_controller(const char* controller) {
  return Error{Code::kUnavailable, 0,
               "cgroup v2 controller " + std::string(controller) +
                   " does not reach Slurm's tasks: set ConstrainCores=yes and "
                   "ConstrainRAMSpace=yes in cgroup.conf, with task/cgroup "
                   "among slurm.conf's TaskPlugin, and Delegate=yes in "
                   "slurmd's unit"};
}

Error not_slurms(const Home& home) {
  const std::string& path = home.cpuset_path;
  const std::string process = "process " + std::to_string(home.task.tid) +
                              " is in " + (path.empty() ? "no group" : path);
  if (path.starts_with("/..")) {
    return Error{Code::kUnavailable, 0,
                 process +
                     ", outside of penstockd's cgroup namespace: run penstockd "
                     "in that of slurmd, not in a container of its own"};
  }
  return Error{Code::kUnavailable, 0,
               process +
                   ", which is no task's of Slurm's in cgroup v2: set "
                   "ProctrackType=proctrack/cgroup, and task/cgroup among "
                   "TaskPlugin"};
}

Error no_task(const std::string& group) {
  return Error{Code::kUnavailable, 0,
               "its group is " + group +
                   ", not that of a task of Slurm's: whoever made the group, "
                   "such as a container's runtime as root, should leave "
                   "processes where Slurm has put them"};
}

}  // namespace

Result<V2Backend> V2Backend::create(const CgroupFs& fs, const ProcReader& proc,
                                    const ThreadSched& sched,
                                    V2Settings settings) {
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
  return V2Backend(fs, proc, sched, std::move(settings));
}

std::string V2Backend::home_dir(std::string_view task) const {
  return std::string(task) + "/" + settings_.name + "_home";
}

std::string V2Backend::loader_dir(std::string_view task) const {
  return std::string(task) + "/" + settings_.name + "_loader";
}

std::string V2Backend::task_of(std::string_view path) const {
  const std::string home = home_dir("");
  if (path.ends_with(home)) path.remove_suffix(home.size());
  return std::string(path);
}

bool V2Backend::is_loader_dir(std::string_view path) const {
  return path.ends_with(loader_dir(""));
}

Result<V2Backend::KnownJob*> V2Backend::known(JobId job) {
  const auto found = jobs_.find(job);
  if (found != jobs_.end()) return &found->second;
  return Error{Code::kUnavailable, 0,
               "job " + std::to_string(job) + " has no task known here"};
}

Result<Home> V2Backend::home_of(const TaskId& task) const {
  auto now = read_thread(*proc_, *sched_, task);
  if (!now) return std::move(now).error();
  if (is_loader_dir(now->groups[""])) {
    return invalid("thread " + std::to_string(task.tid) +
                   " is away; its home is elsewhere");
  }
  const std::string path = task_of(now->groups[""]);
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
  return {slurm->job, slurm->job};
}

// cgroup.events also reports a freeze of an ancestor group.
bool V2Backend::is_frozen(const ProcCgroups& groups) const {
  const auto path = groups.find("");
  if (path == groups.end()) return false;
  const auto events = fs_->read_file(path->second + "/cgroup.events");
  return events && keyed_figure(*events, "frozen") == 1u;
}

Status V2Backend::add_task(JobId job, const Home& home) {
  const auto groups = slurm_groups_of(home.cpuset_path);
  if (!groups || groups->task != home.cpuset_path) return not_slurms(home);
  seen_scopes_.insert(groups->scope);
  KnownJob& known = jobs_[job];
  known.path = groups->job;
  // remove_job() may have removed some of the groups: create all again.
  if (std::exchange(known.is_over, false)) {
    for (auto& [path, task] : known.tasks) task = KnownTask{task.groups};
  }
  Status lendable = check_lendable(*groups);
  if (lendable) known.tasks[groups->task].groups = *groups;
  return lendable;
}

Status V2Backend::check_lendable(const SlurmGroups& task) const {
  auto controllers = fs_->read_file(task.task + "/cgroup.controllers");
  if (!controllers) return std::move(controllers).error();
  for (const char* controller : {"cpuset", "cpu"}) {
    if (!has_word(*controllers, controller)) return no_controller(controller);
  }
  Status writable = fs_->check_writable(task.task + "/cgroup.subtree_control");
  if (!writable) {
    if (is_gone(writable)) return writable;
    return Error{Code::kUnavailable, 0,
                 "Slurm's control groups cannot be written here (" +
                     writable.error().message +
                     "): mount /sys/fs/cgroup read-write where penstockd runs"};
  }
  auto cpus = task_cpus(task);
  if (!cpus) return std::move(cpus).error();
  if (!cpus->empty()) return Done{};
  return Error{Code::kUnavailable, 0,
               "Slurm keeps no CPUs apart for its jobs: set "
               "ConstrainCores=yes in cgroup.conf"};
}

Status V2Backend::move_thread(pid_t tid, const std::string& group) const {
  return fs_->write_file(group + kThreads, std::to_string(tid));
}

// The kernel moves whichever process has the pid at the time of the write, even
// one of another job or a service. So the group is checked last before the
// write. (A short race remains.)
//
// Before Linux 6.2 a move into another cpuset resets a thread's affinity to the
// whole cpuset. So affinities are saved and restored.
Status V2Backend::move_process(pid_t tid, const std::string& from,
                               const std::string& to) const {
  std::map<pid_t, CpuSet> masks;
  const auto status = proc_->status(tid);
  const auto threads = status ? proc_->threads(status->tgid)
                              : Result<std::vector<pid_t>>(status.error());
  for (pid_t thread : threads ? *threads : std::vector<pid_t>{tid}) {
    if (masks.size() == kMostThreads) break;
    if (auto mask = sched_->affinity(thread)) masks.emplace(thread, *mask);
  }
  auto groups = proc_->cgroups(tid);
  if (!groups || (*groups)[""] != from) return Done{};
  Status moved = fs_->write_file(to + kProcs, std::to_string(tid));
  for (const auto& [thread, mask] : masks) {
    const auto now = sched_->affinity(thread);
    if (now && *now != mask) (void)sched_->set_affinity(thread, mask);
  }
  return is_gone(moved) ? Status(Done{}) : moved;
}

// Moves the processes of these threads, until until_ns at most.
Status V2Backend::move_processes(const std::set<pid_t>& threads,
                                 const std::string& from, const std::string& to,
                                 uint64_t until_ns) const {
  Status first = Done{};
  for (pid_t tid : threads) {
    if (monotonic_ns() > until_ns) break;
    // Another thread's move may have moved this process already.
    auto groups = proc_->cgroups(tid);
    if (!groups || (*groups)[""] != from) continue;
    note_first(first, move_process(tid, from, to));
  }
  return first;
}

Result<std::set<pid_t>> V2Backend::threads_in(const std::string& group) const {
  auto text = fs_->read_file(group + kThreads);
  if (!text && text.error().code == Code::kNotFound) return std::set<pid_t>{};
  if (!text) return std::move(text).error();
  auto tids = parse_pid_list(*text);
  if (!tids) return std::move(tids).error();
  return std::set<pid_t>(tids->begin(), tids->end());
}

Status V2Backend::send_away(JobId id, const Home& home) {
  const pid_t tid = home.task.tid;
  Status done = proc_->verify(home.task);
  if (!done) return done;
  auto job = known(id);
  if (!job) return std::move(job).error();
  const auto task = (*job)->tasks.find(home.cpuset_path);
  if (task == (*job)->tasks.end()) return no_task(home.cpuset_path);
  if ((*job)->lent.empty()) {
    return Error{Code::kUnavailable, 0, "no CPUs are lent to its job"};
  }
  if (!task->second.prepared) done = prepare(id, **job, task->second);
  if (!done) return done;
  done = move_thread(tid, loader_dir(home.cpuset_path));
  if (done) done = sched_->set_widest_affinity(tid);
  if (done) return done;
  Status back = bring_home(home);
  if (!back && back.error().code != Code::kNotFound) {
    return std::move(back.error())
        .wrap(done.error().message + "; half-way, and not brought home");
  }
  return done;
}

Status V2Backend::bring_home(const Home& home) {
  const pid_t tid = home.task.tid;
  Status first = proc_->verify(home.task);
  if (!first) return first;
  // An away thread is always below its own task's group, but home.cpuset_path
  // may name another task of the job.
  std::string task = home.cpuset_path;
  auto groups = proc_->cgroups(tid);
  if (groups && is_loader_dir((*groups)[""])) {
    task = (*groups)[""];
    task.resize(task.size() - loader_dir("").size());
  }
  Status moved = move_thread(tid, home_dir(task));
  // The task has no home group: no loan now.
  if (!moved && moved.error().saved_errno == ENOENT) {
    moved = move_thread(tid, task);
  }
  note_first(first, std::move(moved));
  note_first(first, restore_affinity(*sched_, tid, home.affinity));
  return first;
}

Result<std::set<pid_t>> V2Backend::away_threads(JobId job) const {
  std::set<pid_t> away;
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return away;
  for (const auto& [path, task] : found->second.tasks) {
    auto threads = threads_in(loader_dir(path));
    if (!threads) return threads;
    away.merge(*threads);
  }
  return away;
}

Result<uint64_t> V2Backend::cpu_usage_ns(std::string_view group) const {
  const std::string file = std::string(group) + "/cpu.stat";
  auto text = fs_->read_file(file);
  if (!text) return std::move(text).error();
  const auto usage_us = keyed_figure(*text, "usage_usec");
  if (!usage_us) return invalid(file + ": no usage_usec");
  return *usage_us * 1000;
}

Result<Pressure> V2Backend::pressure(std::string_view group) const {
  Pressure out;
  for (const auto& [name, figure_us] : {std::pair{"/cpu.pressure", &out.cpu_us},
                                        {"/io.pressure", &out.io_us}}) {
    const auto text = fs_->read_file(std::string(group) + name);
    const auto some_us = text ? pressure_some_us(*text) : std::nullopt;
    if (!some_us) {
      return Error{Code::kUnavailable, 0,
                   "no pressure stall information in " + std::string(group)};
    }
    *figure_us = *some_us;
  }
  return out;
}

}  // namespace penstock
