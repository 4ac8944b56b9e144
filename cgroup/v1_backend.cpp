#include "cgroup/v1_backend.h"

#include <sched.h>

#include <utility>

#include "cgroup/backend_parts.h"
#include "cgroup/v1_parse.h"

namespace penstock {
namespace {

constexpr const char* kTasks = "/tasks";

}  // namespace

Result<V1Backend> V1Backend::create(const CgroupFs& fs, const ProcReader& proc,
                                    const ThreadSched& sched, V1Mounts mounts,
                                    BackendSettings settings) {
  Status named = check_group_name(settings.name);
  if (!named) return std::move(named).error();
  const V1Tree tree{&fs, &proc, std::move(mounts), std::move(settings)};
  for (const char* controller : {"cpu", "cpuset"}) {
    Status there = tree.require(controller);
    if (!there) return there.error();
  }
  return V1Backend(tree, proc, sched);
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
  if (tree_.is_ours(home.cpuset_path) || tree_.is_ours(home.cpu_path)) {
    return invalid("thread " + std::to_string(task.tid) +
                   " is away; its home is elsewhere");
  }
  return home;
}

Status V1Backend::yields_to(const Home& home,
                            std::string_view lender_cpu_path) const {
  if (tree_.own_cpu_group()) return Done{};
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
  std::string parent = tree_.at("cpuset", tree_.parent_group());
  std::string group = tree_.at("cpuset", tree_.job_group(job));
  auto cpus = tree_.fs->read_file(tree_.at("cpuset", "/cpuset.cpus"));
  if (!cpus) return cpus.error();
  auto mems = tree_.fs->read_file(tree_.at("cpuset", "/cpuset.mems"));
  if (!mems) return mems.error();
  Status done = tree_.fs->make_dir(parent);
  if (done) done = tree_.fs->write_file(parent + "/cpuset.mems", *mems);
  if (done) done = tree_.fs->write_file(parent + "/cpuset.cpus", *cpus);
  if (done) done = tree_.fs->make_dir(group);
  if (done) done = tree_.fs->write_file(group + "/cpuset.mems", *mems);
  return done;
}

Status V1Backend::make_cpu(JobId job) {
  if (!tree_.own_cpu_group()) return Done{};
  std::string parent = tree_.at("cpu", tree_.parent_group());
  Status done = tree_.fs->make_dir(parent);
  if (!done) return done;
  done = tree_.fs->write_file(parent + "/cpu.idle",
                              tree_.settings.away_yields ? "1" : "0");
  if (!done && done.error().code == Code::kNotFound) {  // before Linux 5.15
    done = tree_.fs->write_file(parent + "/cpu.shares",
                                tree_.settings.away_yields ? "2" : "1024");
  }
  if (done) done = tree_.fs->make_dir(tree_.at("cpu", tree_.job_group(job)));
  return done;
}

Status V1Backend::set_away_cpus(JobId job, const CpuSet& cpus) {
  // The loan is over; threads still away keep their CPUs.
  if (cpus.empty()) return keep_on_home_cpus(job);
  Status done = make_cpuset(job);
  if (done) done = make_cpu(job);
  if (!done) return done;
  return cpus_checked(tree_.fs->write_file(
      tree_.at("cpuset", tree_.job_group(job)) + "/cpuset.cpus",
      cpus.to_string()));
}

// Away threads yield to all that are at home. By its shares the job yields to
// other jobs' away threads, too.
Status V1Backend::give_way(JobId job) {
  if (!tree_.own_cpu_group()) {
    return Error{Code::kUnavailable, 0,
                 "cpu and cpuacct are one hierarchy, where threads give way "
                 "within a group only"};
  }
  Status done = make_cpu(job);
  return done ? tree_.fs->write_file(
                    tree_.at("cpu", tree_.job_group(job)) + "/cpu.shares", "2")
              : done;
}

Status V1Backend::hold_back(JobId job, bool is_held) {
  const std::string group = tree_.at("cpu", tree_.job_group(job));
  const std::string quota =
      is_held ? std::to_string(limit_quota_us(kMinLimitMillicores)) : "-1";
  Status done = tree_.fs->write_file(group + "/cpu.cfs_period_us",
                                     std::to_string(kLimitPeriod_us));
  return done ? tree_.fs->write_file(group + "/cpu.cfs_quota_us", quota) : done;
}

Status V1Backend::yield(JobId job, pid_t tid) const {
  if (tree_.own_cpu_group())
    return tree_.move(tid, "cpu", tree_.job_group(job), kTasks);
  return sched_->set_policy(tid, SchedPolicy{SCHED_IDLE, 0});
}

// Yield first, so that the thread never competes with a lender. Set the
// affinity last, because the kernel limits it to the cpuset.
Status V1Backend::send_away(JobId job, const Home& home) {
  pid_t tid = home.task.tid;
  Status done = proc_->verify(home.task);
  if (done) done = tree_.may_attach(tid, tree_.job_group(job));
  if (!done) return done;
  done = yield(job, tid);
  if (done) done = tree_.move(tid, "cpuset", tree_.job_group(job), kTasks);
  if (done) done = sched_->set_widest_affinity(tid);
  if (done) return done;
  if (group_unusable(done.error())) done.error().code = Code::kUnavailable;
  return not_sent(std::move(done).error(), bring_home(home));
}

Status V1Backend::bring_home(const Home& home) {
  pid_t tid = home.task.tid;
  Status first = proc_->verify(home.task);
  if (!first) return first;
  first = tree_.move_home(tid, "cpuset", home.cpuset_path, kTasks);
  // A thread that stays in our cpuset keeps yielding.
  if (!first && first.error().code == Code::kUnavailable) return first;
  note_first(first, restore_affinity(*sched_, tid, home.affinity));
  note_first(first, tree_.own_cpu_group()
                        ? tree_.move_home(tid, "cpu", home.cpu_path, kTasks)
                        : sched_->set_policy(tid, home.policy));
  return first;
}

}  // namespace penstock
