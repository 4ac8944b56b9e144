// Where the node's GPUs are, so that loaders are lent CPUs near them.
#include "common/log.h"
#include "node_agent/agent.h"
#include "node_agent/nvml.h"

namespace penstock {

// Answered later, perhaps much later: until then nothing is known to be near.
void Agent::look_for_gpus(GrantCause cause) {
  find_gpus(children_, kNvmlLibrary, kNvmlDeadline_ms,
            [this, cause](const Result<std::vector<Gpu>>& gpus) {
              take_gpus(gpus, cause);
            });
}

void Agent::take_gpus(const Result<std::vector<Gpu>>& gpus, GrantCause cause) {
  if (!gpus) {
    log_info("GPUs: unknown ({}); lent CPUs are chosen by {}",
             gpus.error().message,
             near_gpu_.empty() ? "NUMA node" : "what was found before");
    return;
  }
  std::map<int, CpuSet> near_gpu =
      cpus_by_gpu(*gpus, machine_.topology.near_pci);
  log_info("GPUs: {}", describe(*gpus, near_gpu));
  if (!numbered_as_files(*gpus)) {
    log_warning(
        "GPUs' numbers are not those of /dev/nvidiaN: without "
        "AutoDetect=nvml in gres.conf, CPUs near the wrong GPU may be "
        "preferred");
  }
  if (near_gpu == near_gpu_) return;
  near_gpu_ = std::move(near_gpu);
  rebalance(cause);
}

CpuSet Agent::cpus_near_gpus_of(const Job& job) const {
  CpuSet near;
  for (const auto& [pid, task] : job.tasks) {
    near = near | cpus_near(near_gpu_, fixed_text(task.start.gpus));
  }
  return near;
}

}  // namespace penstock
