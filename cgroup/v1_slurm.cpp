// Reads Slurm's own groups; changes nothing.
#include "cgroup/backend_parts.h"
#include "cgroup/v1_backend.h"
#include "cgroup/v1_parse.h"
#include "cgroup/v2_layout.h"

namespace penstock {
namespace {

// The kernel writes a number of pages near 2^63 for "no limit".
constexpr uint64_t kNoMemoryLimit = uint64_t{1} << 62;

// Whether the group or one above it, up to the job's, has met its limit. The
// kernel also kills where the machine has no memory left.
bool has_met_limit(const CgroupFs& fs, std::string group) {
  while (!job_group_of(group).empty()) {
    const auto failures = fs.read_file(group + "/memory.failcnt");
    if (failures && !failures->starts_with("0")) return true;
    group.resize(group.rfind('/'));
  }
  return false;
}

}  // namespace

JobGroups V1Backend::job_groups_of(const ProcCgroups& groups) const {
  const auto group_in = [&](const char* controller) {
    const auto found = groups.find(controller);
    return found == groups.end() ? "" : job_group_of(found->second);
  };
  const auto memory = groups.find("memory");
  const bool has_limit = !group_in("memory").empty();
  return {group_in("freezer"), group_in("cpuacct"),
          has_limit ? memory->second : ""};
}

// Each group counts its own processes only.
Result<MemoryKills> V1Backend::memory_kills(
    std::string_view memory_path) const {
  const std::string group = tree_.at("memory", memory_path);
  const auto control = tree_.fs->read_file(group + "/memory.oom_control");
  if (!control) return control.error();
  const auto stat = tree_.fs->read_file(group + "/memory.stat");
  if (!stat) return stat.error();
  MemoryKills out;
  out.killed = keyed_figure(*control, "oom_kill").value_or(0);
  const auto limit = keyed_figure(*stat, "hierarchical_memory_limit");
  const bool has_limit = limit && *limit < kNoMemoryLimit;
  if (has_limit && has_met_limit(*tree_.fs, group)) out.limit_bytes = *limit;
  return out;
}

Result<CpuSet> V1Backend::cpuset_of(const Home& home) const {
  const auto cpus = tree_.fs->read_file(tree_.at("cpuset", home.cpuset_path) +
                                        "/cpuset.effective_cpus");
  if (!cpus) return cpus.error();
  return CpuSet::parse(*cpus);
}

// freezer.state also reports a freeze of an ancestor group.
bool V1Backend::is_frozen(const ProcCgroups& groups) const {
  const auto path = groups.find("freezer");
  if (path == groups.end()) return false;
  const auto state =
      tree_.fs->read_file(tree_.at("freezer", path->second) + "/freezer.state");
  return state && state->starts_with("FROZEN");
}

Result<std::set<pid_t>> V1Backend::away_threads(JobId job) const {
  return tree_.members(job, "cpuset");
}

// Every Slurm release has v1 groups slurm[_NODE]/uid_U/job_J/step_S. A job's
// cpuset contains its steps' CPUs.
Result<CpuSet> V1Backend::slurm_cpus() const {
  auto roots = tree_.fs->list_dirs(tree_.at("cpuset", "/"));
  if (!roots) return roots.error();
  CpuSet held;
  Status first = Done{};
  auto each = [&](const std::string& path, const char* prefix, auto&& visit) {
    auto names = tree_.fs->list_dirs(path);
    if (!names) return note_first(first, unless_gone(names.error()));
    const std::string below = path + "/";
    for (const std::string& name : *names) {
      if (name.starts_with(prefix)) visit(below + name);
    }
  };
  auto add_job = [&](const std::string& job) {
    bool occupied = false;
    each(job, "step_", [&](const std::string& step) {
      auto tasks = tree_.fs->read_file(step + "/cgroup.procs");
      if (!tasks) return note_first(first, unless_gone(tasks.error()));
      occupied = occupied || !tasks->empty();
    });
    if (!occupied) return;
    auto cpus = tree_.fs->read_file(job + "/cpuset.cpus");
    if (!cpus) return note_first(first, unless_gone(cpus.error()));
    if (auto set = CpuSet::parse(*cpus)) held = held | *set;
  };
  for (const std::string& root : *roots) {
    if (!root.starts_with("slurm")) continue;
    each(tree_.at("cpuset", "/" + root), "uid_",
         [&](const std::string& user) { each(user, "job_", add_job); });
  }
  if (!first) return std::move(first).error();
  return held;
}

}  // namespace penstock
