// What is true on the simulated node, whatever penstockd knows of it.
#pragma once

#include <map>
#include <set>
#include <string>

#include "common/config.h"
#include "common/units.h"
#include "tests/model/kernel.h"

namespace penstock::model {

struct SimJob {
  uint32_t id = 0;
  uid_t uid = 0;
  std::string account;
  CpuSet cpus;
  std::string group;  // of its step
  uint32_t mode = 0;  // penstock_mode
  uint32_t threads = 0;
  std::set<pid_t> roots;  // its tasks' first processes that live
  bool is_busy = false;   // its loaders run all the time
  bool is_frozen = false;
  bool has_masks = false;  // of its threads, by Slurm or its user
  bool has_ended = false;  // Slurm has ended it
  double limited_until_s = 0;
};

struct NodeFacts {
  const Kernel& kernel;
  const Config& config;
  std::map<uint32_t, SimJob> jobs;
  bool is_off = false;
  double now_s = 0;

  bool is_alive(const SimJob& job) const {
    for (const auto& [tid, thread] : kernel.threads()) {
      if (kernel.group_of(thread, "freezer") == job.group) return true;
    }
    return false;
  }
  // Whether the process is a task's first one or descends from it; not so an
  // orphan.
  bool is_in_task(const SimJob& job, pid_t pid) const {
    while (!job.roots.contains(pid)) {
      const auto process = kernel.threads().find(pid);
      if (process == kernel.threads().end()) return false;
      pid = process->second.ppid;
    }
    return true;
  }
  bool manages(const SimJob& job) const {
    return job.mode != 2 && (config.default_auto || job.mode == 1);
  }
};

}  // namespace penstock::model
