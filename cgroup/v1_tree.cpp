#include "cgroup/v1_tree.h"

#include "cgroup/backend_parts.h"
#include "cgroup/v1_parse.h"

namespace penstock {

std::string V1Tree::at(std::string_view controller,
                       std::string_view group) const {
  auto mount = mounts.path_of.find(controller);
  std::string path = mount == mounts.path_of.end() ? "" : mount->second;
  return path.append(group);
}

std::string V1Tree::job_group(JobId job) const {
  return parent_group() + "/" + job_dir(job);
}

bool V1Tree::is_ours(std::string_view group) const {
  return is_limit(group) ||
         (std::string(group) + "/").starts_with(parent_group() + "/");
}

Status V1Tree::require(std::string_view controller) const {
  if (mounts.path_of.contains(controller)) return Done{};
  return Error{
      Code::kUnavailable, 0,
      "controller " + std::string(controller) + " is not mounted as cgroup v1"};
}

std::string V1Tree::limit_group(JobId job) const {
  return limit_parent() + "/" + job_dir(job);
}

bool V1Tree::is_limit(std::string_view group) const {
  return (std::string(group) + "/").starts_with(limit_parent() + "/");
}

Status V1Tree::move(pid_t tid, std::string_view controller,
                    std::string_view group, const char* file) const {
  if (controller == "cpuset") {
    Status may = may_attach(tid, group);
    if (!may) return may;
  }
  return fs->write_file(at(controller, group) + file, std::to_string(tid));
}

Status V1Tree::move_home(pid_t tid, std::string_view controller,
                         std::string_view group, const char* file) const {
  for (;;) {
    while (group.ends_with('/')) group.remove_suffix(1);
    Status moved = move(tid, controller, group, file);
    if (moved || group.empty() || !group_unusable(moved.error())) return moved;
    group = group.substr(0, group.rfind('/'));
  }
}

Result<std::set<pid_t>> V1Tree::members(JobId job,
                                        const char* controller) const {
  if (!require(controller)) return std::set<pid_t>{};
  return read_pids(*fs, at(controller, job_group(job)) + "/tasks");
}

}  // namespace penstock
