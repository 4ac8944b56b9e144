#include "cgroup/v1_backend.h"

#include <sched.h>

#include <utility>

#include "cgroup/backend_parts.h"
#include "cgroup/v1_parse.h"

namespace penstock {
namespace {

constexpr const char* kTasks = "/tasks";

// ENOENT: no such group; ENOSPC: a cpuset without CPUs.
bool group_unusable(const Error& error) {
  return error.saved_errno == ENOENT || error.saved_errno == ENOSPC;
}

}  // namespace

V1Backend::V1Backend(const CgroupFs& fs, const ProcReader& proc,
                     const ThreadSched& sched, V1Mounts mounts,
                     V1Settings settings)
    : fs_(&fs),
      proc_(&proc),
      sched_(&sched),
      mounts_(std::move(mounts)),
      settings_(std::move(settings)) {}

Result<V1Backend> V1Backend::create(const CgroupFs& fs, const ProcReader& proc,
                                    const ThreadSched& sched, V1Mounts mounts,
                                    V1Settings settings) {
  Status named = check_group_name(settings.name);
  if (!named) return std::move(named).error();
  V1Backend backend(fs, proc, sched, std::move(mounts), std::move(settings));
  for (const char* controller : {"cpu", "cpuset"}) {
    Status there = backend.require(controller);
    if (!there) return there.error();
  }
  return backend;
}

std::string V1Backend::at(std::string_view controller,
                          std::string_view group) const {
  auto mount = mounts_.path_of.find(controller);
  std::string path = mount == mounts_.path_of.end() ? "" : mount->second;
  return path.append(group);
}

std::string V1Backend::job_group(JobId job) const {
  return parent_group() + "/" + job_dir(job);
}

bool V1Backend::is_ours(std::string_view group) const {
  return is_limit(group) ||
         (std::string(group) + "/").starts_with(parent_group() + "/");
}

Status V1Backend::require(std::string_view controller) const {
  if (mounts_.path_of.contains(controller)) return Done{};
  return Error{
      Code::kUnavailable, 0,
      "controller " + std::string(controller) + " is not mounted as cgroup v1"};
}

Result<Home> V1Backend::home_of(const TaskId& task) const {
  auto now = read_thread(*proc_, *sched_, task);
  if (!now) return std::move(now).error();
  ProcCgroups& groups = now->groups;
  Home home{now->id,
            groups["cpuset"],
            unlimited_path(groups["cpu"]),
            groups["blkio"],
            now->affinity,
            now->policy,
            job_groups_of(groups).tracked};
  if (is_ours(home.cpuset_path) || is_ours(home.cpu_path)) {
    return invalid("thread " + std::to_string(task.tid) +
                   " is away; its home is elsewhere");
  }
  return home;
}

Status V1Backend::yields_to(const Home& home,
                            std::string_view lender_cpu_path) const {
  if (own_cpu_group()) return Done{};
  const bool same_group =
      home.cpu_path == lender_cpu_path &&
      (lender_cpu_path != "/" || !proc_->autogroup_enabled());
  if (same_group) return Done{};
  return Error{Code::kUnavailable, 0,
               "cpu and cpuacct are one hierarchy, where threads give way "
               "within a group only"};
}

// A v1 cpuset accepts no thread before mems and cpus are set. Always writes all
// files: cheap, and it completes a group that a crash left half configured.
Status V1Backend::make_cpuset(JobId job) {
  std::string parent = at("cpuset", parent_group());
  std::string group = at("cpuset", job_group(job));
  auto cpus = fs_->read_file(at("cpuset", "/cpuset.cpus"));
  if (!cpus) return cpus.error();
  auto mems = fs_->read_file(at("cpuset", "/cpuset.mems"));
  if (!mems) return mems.error();
  Status done = fs_->make_dir(parent);
  if (done) done = fs_->write_file(parent + "/cpuset.mems", *mems);
  if (done) done = fs_->write_file(parent + "/cpuset.cpus", *cpus);
  if (done) done = fs_->make_dir(group);
  if (done) done = fs_->write_file(group + "/cpuset.mems", *mems);
  return done;
}

Status V1Backend::make_cpu(JobId job) {
  if (!own_cpu_group()) return Done{};
  std::string parent = at("cpu", parent_group());
  Status done = fs_->make_dir(parent);
  if (!done) return done;
  done =
      fs_->write_file(parent + "/cpu.idle", settings_.away_yields ? "1" : "0");
  if (!done && done.error().code == Code::kNotFound) {  // before Linux 5.15
    done = fs_->write_file(parent + "/cpu.shares",
                           settings_.away_yields ? "2" : "1024");
  }
  if (done) done = fs_->make_dir(at("cpu", job_group(job)));
  return done;
}

Status V1Backend::set_away_cpus(JobId job, const CpuSet& cpus) {
  // The loan is over; threads still away keep their CPUs.
  if (cpus.empty()) return Done{};
  Status done = make_cpuset(job);
  if (done) done = make_cpu(job);
  if (!done) return done;
  return cpus_checked(fs_->write_file(
      at("cpuset", job_group(job)) + "/cpuset.cpus", cpus.to_string()));
}

Status V1Backend::move(pid_t tid, std::string_view controller,
                       std::string_view group, const char* file) const {
  return fs_->write_file(at(controller, group) + file, std::to_string(tid));
}

Status V1Backend::move_home(pid_t tid, std::string_view controller,
                            std::string_view group, const char* file) const {
  for (;;) {
    while (group.ends_with('/')) group.remove_suffix(1);
    Status moved = move(tid, controller, group, file);
    if (moved || group.empty() || !group_unusable(moved.error())) return moved;
    group = group.substr(0, group.rfind('/'));
  }
}

Status V1Backend::yield(JobId job, pid_t tid) const {
  if (own_cpu_group()) return move(tid, "cpu", job_group(job), kTasks);
  return sched_->set_policy(tid, SchedPolicy{SCHED_IDLE, 0});
}

// Yield first, so that the thread never competes with a lender. Set the
// affinity last, because the kernel limits it to the cpuset.
Status V1Backend::send_away(JobId job, const Home& home) {
  pid_t tid = home.task.tid;
  Status done = proc_->verify(home.task);
  if (!done) return done;
  done = yield(job, tid);
  if (done) done = move(tid, "cpuset", job_group(job), kTasks);
  if (done) done = sched_->set_widest_affinity(tid);
  if (done) return done;
  if (group_unusable(done.error())) done.error().code = Code::kUnavailable;
  return not_sent(std::move(done).error(), bring_home(home));
}

Status V1Backend::bring_home(const Home& home) {
  pid_t tid = home.task.tid;
  Status first = proc_->verify(home.task);
  if (!first) return first;
  note_first(first, move_home(tid, "cpuset", home.cpuset_path, kTasks));
  note_first(first, restore_affinity(*sched_, tid, home.affinity));
  note_first(first, own_cpu_group()
                        ? move_home(tid, "cpu", home.cpu_path, kTasks)
                        : sched_->set_policy(tid, home.policy));
  return first;
}

}  // namespace penstock
