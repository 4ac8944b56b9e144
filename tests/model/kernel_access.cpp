// The simulated kernel as penstockd's backend reads and changes it.
#include <cerrno>

#include "tests/model/kernel.h"

namespace penstock::model {

Status Kernel::Fs::make_dir(std::string_view path) const {
  const Status failed = kernel_->fault("mkdir", path);
  if (!failed) return failed;
  const std::string name(path);
  if (kernel_->groups_.contains(name)) return Done{};
  if (!kernel_->groups_.contains(name.substr(0, name.rfind('/')))) {
    return system_error(ENOENT, name);
  }
  kernel_->make_group(name);
  return Done{};
}

Status Kernel::Fs::remove_dir(std::string_view path) const {
  const Status failed = kernel_->fault("rmdir", path);
  if (!failed) return failed;
  const auto group = kernel_->groups_.find(std::string(path));
  if (group == kernel_->groups_.end()) return Done{};
  const auto next = std::next(group);
  const bool has_child = next != kernel_->groups_.end() &&
                         next->first.starts_with(std::string(path) + "/");
  if (!group->second.tids.empty() || has_child) {
    return system_error(EBUSY, std::string(path));
  }
  kernel_->groups_.erase(group);
  return Done{};
}

Result<std::string> Kernel::Fs::read_file(std::string_view path) const {
  Status failed = kernel_->fault("read", path);
  if (!failed) return std::move(failed).error();
  const size_t slash = path.rfind('/');
  const std::string file(path.substr(slash + 1));
  std::string at(path.substr(0, slash));
  while (at.ends_with('/')) at.pop_back();
  const auto group = kernel_->groups_.find(at);
  if (group == kernel_->groups_.end()) {
    return system_error(ENOENT, std::string(path));
  }
  if (file != "tasks" && file != "cgroup.procs") {
    const auto found = group->second.files.find(file);
    if (found == group->second.files.end()) {
      return system_error(ENOENT, std::string(path));
    }
    return found->second + "\n";
  }
  std::set<pid_t> ids;
  for (pid_t tid : group->second.tids) {
    ids.insert(file == "tasks" ? tid : kernel_->threads_.at(tid).pid);
  }
  return ids.empty() ? std::string()
                     : fmt::format("{}\n", fmt::join(ids, "\n"));
}

Status Kernel::Fs::write_file(std::string_view path,
                              std::string_view text) const {
  const Status failed = kernel_->fault("write", path);
  if (!failed) {
    kernel_->note_displaced(pid_t(std::atoi(std::string(text).c_str())));
    return failed;
  }
  const size_t slash = path.rfind('/');
  const std::string file(path.substr(slash + 1));
  const std::string at(path.substr(0, slash));
  const auto group = kernel_->groups_.find(at);
  if (group == kernel_->groups_.end()) return system_error(ENOENT, at);
  if (file == "tasks" || file == "cgroup.procs") {
    return kernel_->move(std::string(text), at, file == "cgroup.procs");
  }
  if (file == "cpuset.cpus") return kernel_->set_cpus(at, text);
  const auto found = group->second.files.find(file);
  if (found == group->second.files.end()) return system_error(ENOENT, file);
  found->second = text.substr(0, text.find('\n'));
  return Done{};
}

Result<std::vector<std::string>> Kernel::Fs::list_dirs(
    std::string_view path) const {
  Status failed = kernel_->fault("list", path);
  if (!failed) return std::move(failed).error();
  std::string at(path);
  while (at.ends_with('/')) at.pop_back();
  if (!kernel_->groups_.contains(at)) return system_error(ENOENT, at);
  std::vector<std::string> names;
  const std::string below = at + "/";
  for (auto it = kernel_->groups_.lower_bound(below);
       it != kernel_->groups_.end() && it->first.starts_with(below); ++it) {
    const std::string name = it->first.substr(below.size());
    if (name.find('/') == name.npos) names.push_back(name);
  }
  return names;
}

Result<CpuSet> Kernel::Sched::affinity(pid_t tid) const {
  const Result<Thread*> thread = kernel_->find(tid);
  if (!thread) return thread.error();
  return (*thread)->affinity;
}

Status Kernel::Sched::set_affinity(pid_t tid, const CpuSet& cpus) const {
  const Status failed = kernel_->fault("sched_setaffinity", "");
  if (!failed) {
    kernel_->note_displaced(tid);
    return failed;
  }
  return kernel_->set_mask(tid, cpus);
}

Status Kernel::Sched::set_widest_affinity(pid_t tid) const {
  return set_affinity(tid, all_cpus());
}

Result<SchedPolicy> Kernel::Sched::policy(pid_t tid) const {
  const Result<Thread*> thread = kernel_->find(tid);
  if (!thread) return thread.error();
  return (*thread)->policy;
}

Status Kernel::Sched::set_policy(pid_t tid, const SchedPolicy& policy) const {
  const Status failed = kernel_->fault("sched_setscheduler", "");
  if (!failed) {
    kernel_->note_displaced(tid);
    return failed;
  }
  const Result<Thread*> thread = kernel_->find(tid);
  if (!thread) return thread.error();
  (*thread)->policy = policy;
  return Done{};
}

}  // namespace penstock::model
