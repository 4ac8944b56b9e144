// Limit of a job's CPU time on cgroup v1, in a group of its own. A job under
// this limit neither lends nor borrows CPUs.
#include <algorithm>

#include "cgroup/backend_parts.h"
#include "cgroup/v1_backend.h"
#include "cgroup/v1_parse.h"

namespace penstock {
namespace {

constexpr int kAttempts = 3;

}  // namespace

std::string V1Backend::unlimited_path(std::string_view limit_path) const {
  if (tree_.is_limit(limit_path)) {
    const auto job = parse_job_dir(limit_path.substr(
        std::min(limit_path.size(), tree_.limit_parent().size() + 1)));
    const auto from = job ? limited_from_.find(*job) : limited_from_.end();
    if (from != limited_from_.end()) return from->second;
  }
  return std::string(limit_path);
}

Status V1Backend::set_cpu_limit(JobId job, const std::vector<Home>& homes,
                                uint32_t millicores) {
  if (!tree_.own_cpu_group()) {
    return Error{Code::kUnavailable, 0,
                 "cpu and cpuacct are one hierarchy, where Slurm counts CPU "
                 "time"};
  }
  const std::string group = tree_.at("cpu", tree_.limit_group(job));
  Status done = tree_.fs->make_dir(tree_.at("cpu", tree_.limit_parent()));
  if (done) done = tree_.fs->make_dir(group);
  if (done) {
    done = tree_.fs->write_file(group + "/cpu.cfs_period_us",
                                std::to_string(kLimitPeriod_us));
  }
  if (done) {
    done = tree_.fs->write_file(group + "/cpu.cfs_quota_us",
                                std::to_string(limit_quota_us(millicores)));
  }
  if (!done) return done;
  for (const Home& home : homes) {
    if (tree_.is_ours(home.cpu_path))
      continue;  // away, or left by an earlier run
    if (!proc_->verify(home.task)) continue;
    auto groups = proc_->cgroups(home.task.tid);
    if (groups && tree_.is_limit((*groups)["cpu"]))
      continue;  // already limited
    const auto from = limited_from_.try_emplace(job, home.cpu_path).first;
    // limited_from_ holds one home group a job: skip processes of another.
    if (from->second != home.cpu_path) continue;
    Status moved = tree_.move(home.task.tid, "cpu", tree_.limit_group(job),
                              "/cgroup.procs");
    if (!moved && moved.error().code != Code::kNotFound)
      note_first(done, moved);
  }
  return done;
}

// The job may start processes between listing and removal, hence the attempts.
Status V1Backend::clear_cpu_limit(JobId job, const FindHome& find_home) {
  if (!tree_.own_cpu_group()) return Done{};
  const std::string group = tree_.at("cpu", tree_.limit_group(job));
  // Lifts the limit even if the removal below fails.
  (void)tree_.fs->write_file(group + "/cpu.cfs_quota_us", "-1");
  Status removed = Done{};
  for (int i = 0; i < kAttempts; ++i) {
    // Whole processes first: fewer writes than one per thread.
    const char* file = i + 1 < kAttempts ? "/cgroup.procs" : "/tasks";
    auto text = tree_.fs->read_file(group + file);
    if (!text && text.error().code == Code::kNotFound) break;
    const auto tids =
        text ? parse_pid_list(*text) : Result<std::vector<pid_t>>(text.error());
    if (!tids) return tids.error();
    for (pid_t tid : *tids) {
      const auto known = limited_from_.find(job);
      const std::string path = known != limited_from_.end()
                                   ? known->second
                                   : find_or_guess(tid, find_home).cpu_path;
      (void)tree_.move_home(tid, "cpu", path, file);
    }
    removed = tree_.fs->remove_dir(group);
    if (removed) break;
  }
  if (!removed) return removed;
  limited_from_.erase(job);
  const auto others =
      tree_.fs->list_dirs(tree_.at("cpu", tree_.limit_parent()));
  if (others && others->empty()) {
    (void)tree_.fs->remove_dir(tree_.at("cpu", tree_.limit_parent()));
  }
  return Done{};
}

}  // namespace penstock
