// What Slurm's own groups say; they are only read.
#include "cgroup/v1_backend.h"
#include "cgroup/v1_parse.h"

namespace penstock {

JobGroups V1Backend::job_groups_of(const ProcCgroups& groups) const {
  const auto group_in = [&](const char* controller) {
    const auto found = groups.find(controller);
    return found == groups.end() ? "" : job_group_of(found->second);
  };
  return {group_in("freezer"), group_in("cpuacct")};
}

// The state is that of the groups above, too.
bool V1Backend::is_frozen(const ProcCgroups& groups) const {
  const auto path = groups.find("freezer");
  if (path == groups.end()) return false;
  const auto state =
      fs_->read_file(at("freezer", path->second) + "/freezer.state");
  return state && state->starts_with("FROZEN");
}

Result<std::set<pid_t>> V1Backend::away_threads(JobId job) const {
  return members(job, "cpuset");
}

// Every release lays its v1 groups out as slurm[_NODE]/uid_U/job_J/step_S; the
// CPUs of a step stand at the job as well.
Result<CpuSet> V1Backend::slurm_cpus() const {
  auto roots = fs_->list_dirs(at("cpuset", "/"));
  if (!roots) return roots.error();
  CpuSet held;
  auto each = [&](const std::string& path, const char* prefix, auto&& visit) {
    auto names = fs_->list_dirs(path);
    if (!names) return;  // it ended meanwhile
    const std::string below = path + "/";
    for (const std::string& name : *names) {
      if (name.starts_with(prefix)) visit(below + name);
    }
  };
  auto add_job = [&](const std::string& job) {
    bool occupied = false;
    each(job, "step_", [&](const std::string& step) {
      auto tasks = fs_->read_file(step + "/cgroup.procs");
      occupied = occupied || (tasks && !tasks->empty());
    });
    auto cpus = fs_->read_file(job + "/cpuset.cpus");
    if (!occupied || !cpus) return;
    if (auto set = CpuSet::parse(*cpus)) held = held | *set;
  };
  for (const std::string& root : *roots) {
    if (!root.starts_with("slurm")) continue;
    each(at("cpuset", "/" + root), "uid_",
         [&](const std::string& user) { each(user, "job_", add_job); });
  }
  return held;
}

}  // namespace penstock
