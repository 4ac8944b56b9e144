#include "broker/rules.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <span>

#include "cgroup/v1_parse.h"
#include "cgroup/v2_layout.h"
#include "common/units.h"

namespace penstock {
namespace {

// The control files that Penstock writes. No other may be written: among
// Slurm's are devices.allow and memory.limit_in_bytes.
constexpr std::pair<std::string_view, std::string_view> kV1Files[] = {
    {"cpuset", "cpuset.cpus"},
    {"cpuset", "cpuset.mems"},
    {"cpu", "cpu.idle"},
    {"cpu", "cpu.shares"},
    {"cpu", "cpu.cfs_period_us"},
    {"cpu", "cpu.cfs_quota_us"},
    {"blkio", "blkio.throttle.read_bps_device"}};
// From a job's group down.
constexpr std::string_view kV2Files[] = {"cpuset.cpus", "cpu.weight", "cpu.max",
                                         "io.max"};
constexpr std::string_view kMarks[] = {"job",    "step", "cpus",
                                       "weight", "max",  "io"};
constexpr std::string_view kV1Lists[] = {"tasks", "cgroup.procs"};
constexpr std::string_view kV2Lists[] = {"cgroup.threads", "cgroup.procs"};
// Of all values that Penstock writes.
constexpr std::string_view kValueBytes =
    "0123456789abcdefghijklmnopqrstuvwxyz,:=+- \n";

Error refused(std::string_view what, std::string_view path) {
  return Error{Code::kPermissionDenied, EPERM,
               "penstock-broker refuses to " + std::string(what) + " " +
                   printable(path, 200)};
}

bool has(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Whether no component could lead out of the tree.
bool is_plain(std::string_view path) {
  return ("/" + std::string(path) + "/").find("/../") == std::string::npos;
}

struct Split {
  std::string_view group;  // "" or "/a/b"
  std::string_view name;   // the last component
};

Split split(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == path.npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

bool is_below(std::string_view path, std::string_view group) {
  return path == group ||
         (path.starts_with(group) && path.size() > group.size() &&
          path[group.size()] == '/');
}

// A group in a v1 hierarchy.
struct V1Group {
  std::string controller;
  std::string mount;  // the hierarchy's directory
  std::string group;  // "/penstock/job_7"
};

std::optional<V1Group> v1_group(const V1Mounts& mounts, std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  for (const auto& [controller, mount] : mounts.path_of) {
    if (is_below(path, mount)) {
      return V1Group{controller, mount, std::string(path.substr(mount.size()))};
    }
  }
  return std::nullopt;
}

// Only there are groups of ours: in memory, freezer or cpuacct a job's
// processes would leave Slurm's limits, kill and accounting.
bool has_our_groups(const V1Mounts& mounts, const V1Group& at) {
  const auto is_mount = [&](const char* controller) {
    const auto mount = mounts.path_of.find(controller);
    return mount != mounts.path_of.end() && mount->second == at.mount;
  };
  return is_mount("cpuset") || is_mount("blkio") ||
         (is_mount("cpu") && !mounts.cpu_with_cpuacct());
}

// Which of our groups it is.
struct OurGroup {
  bool is_job = false;
  JobId job = 0;
};

std::optional<OurGroup> our_group(const std::string& name,
                                  std::string_view group) {
  for (const std::string& parent : {"/" + name, "/" + name + "_limit"}) {
    if (group == parent) return OurGroup{};
    if (!is_below(group, parent)) continue;
    if (const auto job = parse_job_dir(group.substr(parent.size() + 1))) {
      return OurGroup{true, *job};
    }
  }
  return std::nullopt;
}

// ".../slurm_n1/uid_1000/job_7" of a path in it; "": it is in no such group.
std::string slurms_job_of(std::string_view path) {
  const std::string job = job_group_of(path);
  const Split user = split(split(job).group);
  const bool is_slurms = parse_job_dir(split(job).name).has_value() &&
                         user.name.starts_with("uid_") &&
                         split(user.group).name.starts_with("slurm");
  return is_slurms ? job : "";
}

// What the kernel says of a thread: the group that Slurm gave its job, in some
// controller, and the job whose groups of ours it is in.
struct Membership {
  std::string slurms_job;  // ".../uid_1000/job_7"; "": in none
  std::optional<JobId> our_job;
};

// Only in controllers whose groups are root's, not in name=systemd or "".
Membership membership(const std::string& name, const V1Mounts& mounts,
                      const ProcCgroups& groups) {
  Membership found;
  for (const auto& [controller, group] : groups) {
    if (!mounts.path_of.contains(controller)) continue;
    if (const auto ours = our_group(name, group)) {
      if (ours->is_job) found.our_job = ours->job;
    } else if (found.slurms_job.empty()) {
      found.slurms_job = slurms_job_of(group);
    }
  }
  return found;
}

std::optional<JobId> job_of(const Membership& of) {
  if (of.our_job) return of.our_job;
  return parse_job_dir(split(of.slurms_job).name);
}

// On v2, the parts of a path: Slurm's scope and what is below it.
struct V2Path {
  std::string scope;
  std::string_view below;  // "" or "/job_7/step_0"
};

std::optional<V2Path> v2_path(std::string_view path) {
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    if (is_slurm_scope(path.substr(at, end - at))) {
      return V2Path{std::string(path.substr(0, end)), path.substr(end)};
    }
    at = end + 1;
  }
  return std::nullopt;
}

std::string with_root(std::string_view path) {
  return path.starts_with('/') ? std::string(path) : "/" + std::string(path);
}

// Moving home: into the job's own group if Slurm made one in this hierarchy.
bool is_home(const V1Group& to, const Membership& of,
             const BrokerRules::Exists& exists) {
  const std::string job = job_group_of(to.group);
  if (!of.slurms_job.empty() && exists(to.mount + of.slurms_job)) {
    return is_below(to.group, of.slurms_job);
  }
  return job.empty() || parse_job_dir(split(job).name) == job_of(of);
}

}  // namespace

Status BrokerRules::may_make(std::string_view group) const {
  const Error error = refused("make", group);
  if (!is_plain(group)) return error;
  if (!unified()) {
    const auto at = v1_group(mounts_, group);
    if (!at || !has_our_groups(mounts_, *at) || !our_group(name_, at->group)) {
      return error;
    }
    return Done{};
  }
  const Split parts = split(group);
  const std::string parent = with_root(parts.group);
  const auto task = slurm_groups_of(parent);
  const bool is_ours =
      parts.name == name_ + "_home" || parts.name == name_ + "_loader";
  if (!task || task->task != parent || !is_ours) return error;
  return Done{};
}

// On v2 also Slurm's: a step's groups stay behind if Slurm could not remove
// them because of ours. The kernel removes only groups without processes.
Status BrokerRules::may_remove(std::string_view group) const {
  if (!unified()) {
    Status may = may_make(group);
    return may ? may : Status(refused("remove", group));
  }
  const auto at = v2_path(group);
  if (!is_plain(group) || !at || at->below.size() < 2) {
    return refused("remove", group);
  }
  return Done{};
}

Status BrokerRules::may_write(std::string_view file,
                              std::string_view text) const {
  const Error error = refused("write", file);
  const Split parts = split(file);
  if (!is_plain(file) || text.find_first_not_of(kValueBytes) != text.npos) {
    return error;
  }
  if (unified())
    return may_write_v2(parts.group, parts.name, text) ? Status(Done{}) : error;
  const auto at = v1_group(mounts_, parts.group);
  if (!at || !our_group(name_, at->group)) return error;
  const bool is_known = std::any_of(
      std::begin(kV1Files), std::end(kV1Files), [&](const auto& known) {
        // A hierarchy may have several controllers.
        const auto mount = mounts_.path_of.find(known.first);
        return known.second == parts.name && mount != mounts_.path_of.end() &&
               mount->second == at->mount;
      });
  if (!is_known) return error;
  return Done{};
}

// Slurm's controllers must stay enabled, and its groups' types as they are.
bool BrokerRules::may_write_v2(std::string_view group, std::string_view file,
                               std::string_view text) const {
  const auto at = v2_path(group);
  if (!at) return false;
  const auto is_one_of = [&](std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), text) != words.end();
  };
  const auto task = slurm_groups_of(with_root(group));
  if (file == "cgroup.subtree_control") {
    if (at->below.empty()) return is_one_of({"+io", "-io"});
    // "": whether it may be written at all.
    return task && task->task == with_root(group) &&
           is_one_of({"", "+cpuset", "-cpuset", "+cpu", "-cpu"});
  }
  const bool is_ours = group.ends_with("/" + name_ + "_home") ||
                       group.ends_with("/" + name_ + "_loader");
  if (file == "cgroup.type") return is_ours && text == "threaded";
  if (file == "cpu.idle") return is_ours;
  return at->below.size() > 1 && has(kV2Files, file);
}

Status BrokerRules::may_mark(std::string_view group,
                             std::string_view mark) const {
  const std::string prefix = name_ + ".";
  const bool is_ours =
      mark.starts_with(prefix) && has(kMarks, mark.substr(prefix.size()));
  if (!unified() || !is_plain(group) || !v2_path(group) || !is_ours) {
    return refused("mark", group);
  }
  return Done{};
}

Status BrokerRules::may_move(const ProcCgroups& now, std::string_view file,
                             const Exists& exists) const {
  const Error error = refused("move a thread to", file);
  const Split parts = split(file);
  if (!is_plain(file)) return error;
  if (unified()) {
    const auto from = now.find("");
    if (from == now.end() || !has(kV2Lists, parts.name)) return error;
    const auto here = slurm_groups_of(from->second);
    const auto there = slurm_groups_of(with_root(parts.group));
    if (!here || !there || here->job != there->job) return error;
    return Done{};
  }
  const auto to = v1_group(mounts_, parts.group);
  if (!to || !has(kV1Lists, parts.name)) return error;
  const Membership of = membership(name_, mounts_, now);
  const std::optional<JobId> job = job_of(of);
  if (!job) return error;
  if (const auto ours = our_group(name_, to->group)) {
    if (!has_our_groups(mounts_, *to) || !ours->is_job || ours->job != *job) {
      return error;
    }
    return Done{};
  }
  if (!is_home(*to, of, exists)) return error;
  return Done{};
}

Status BrokerRules::is_of_job(const ProcCgroups& now) const {
  bool is = false;
  if (unified()) {
    const auto group = now.find("");
    is = group != now.end() && slurm_groups_of(group->second);
  } else {
    is = job_of(membership(name_, mounts_, now)).has_value();
  }
  if (is) return Done{};
  return Error{Code::kPermissionDenied, EPERM,
               "penstock-broker refuses to change a thread of no job"};
}

std::string BrokerRules::scope_of(std::string_view path) const {
  const auto at = v2_path(path);
  return at ? at->scope : "";
}

}  // namespace penstock
