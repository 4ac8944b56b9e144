// GPU locations, so that loaders are lent CPUs near them, and what GPUs do, for
// the jobs' reports.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "node_agent/bounded_child.h"
#include "node_agent/node.h"
#include "node_agent/plan/gpu_use.h"
#include "node_agent/plan/gpus.h"

namespace penstock {

class GpuWatch {
 public:
  GpuWatch(Node& node, BoundedChildren& children, Replan replan)
      : node_(node), children_(children), replan_(std::move(replan)) {}

  // Finds the GPUs, and plans for `cause` if they changed. Asynchronous and
  // possibly slow: until the result, no CPU counts as near.
  void look_for_gpus(GrantCause cause);

  CpuSet cpus_near_gpus_of(const Job& job) const;

  // Sets Job::gpu_use of each managed job. Watches the GPUs as long as one has
  // some.
  void look_at_use(uint64_t now_ns);

 private:
  void take(const Result<std::vector<Gpu>>& gpus, GrantCause cause);
  void begin_to_watch();
  bool is_fresh(uint64_t now_ns) const;

  Node& node_;
  BoundedChildren& children_;
  Replan replan_;
  std::map<int, CpuSet> near_gpu_;  // by Slurm's GPU number
  bool has_gpus_ = false;           // NVML reported at least one GPU
  bool is_watching_ = false;        // a child process reports GPU use
  bool wants_use_ = false;          // a managed job has GPUs
  uint64_t not_before_ns_ = 0;      // watched; after a failure
  GpuUse use_;
  uint64_t use_ns_ = 0;  // time of the last report
};

}  // namespace penstock
