#include "node_agent/pool_devices.h"

#include <cstring>

#include "common/log.h"

namespace penstock {

void PoolDevices::look_up() {
  std::vector<std::string> paths;
  std::map<std::string, std::string> known;
  for (const PoolConfig& pool : node_.config.pools) {
    known[pool.path] = device_of_path_[pool.path];
    paths.push_back(pool.path);
  }
  device_of_path_ = std::move(known);
  set_names();
  find_path_devices(children_, paths,
                    [this, paths](Result<std::vector<PathDevice>> found) {
                      if (found) return take(paths, *found);
                      log_warning("{}: bandwidth of pools may not be enforced",
                                  found.error().message);
                    });
}

void PoolDevices::take(const std::vector<std::string>& paths,
                       const std::vector<PathDevice>& found) {
  for (size_t i = 0; i < paths.size(); ++i) {
    const auto known = device_of_path_.find(paths[i]);
    if (known == device_of_path_.end()) continue;  // a reload removed it
    known->second = found[i].device;
    if (found[i].error != 0) {
      log_warning("Pool Path={}: {}; its bandwidth is not enforced", paths[i],
                  std::strerror(found[i].error));
    } else if (found[i].device.empty()) {
      log_warning(
          "Pool Path={}: not on a block device; the kernel cannot limit it, "
          "libpenstock's loaders can",
          paths[i]);
    }
  }
  set_names();
  attach_all();
  replan_(GrantCause::kReload);
}

void PoolDevices::set_names() {
  names_.clear();
  for (const PoolConfig& pool : node_.config.pools) {
    names_.push_back(device_of_path_[pool.path]);
  }
}

void PoolDevices::attach(Job& job, const Task& task) const {
  if (node_.pool_of(job) < 0 || !node_.acts_for(job)) return;
  for (pid_t pid : task.processes) {
    Result<Home> home = node_.machine.backend.home_of(TaskId{pid, 0});
    if (!home || home->blkio_path != task.home.blkio_path) continue;
    Status status = node_.machine.backend.attach_io(job.id, *home);
    if (!status && status.error().code != Code::kNotFound) {
      const std::string text = "I/O limit: " + status.error().message;
      if (job.note(text)) log_warning("job {}: {}", job.id, text);
      return;
    }
  }
}

void PoolDevices::attach_all() const {
  for (auto& [id, job] : node_.registry.jobs()) {
    for (const auto& [pid, task] : job.tasks) attach(job, task);
  }
}

std::string PoolDevices::of(const Job& job) const {
  const int pool = node_.pool_of(job);
  return pool < 0 ? "" : names_[size_t(pool)];
}

}  // namespace penstock
