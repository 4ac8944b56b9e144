// GPU locations, so that loaders are lent CPUs near them, and GPU utilization,
// for the reports of jobs without progress pages.
#include <algorithm>

#include "common/clock.h"
#include "common/log.h"
#include "node_agent/agent.h"
#include "node_agent/nvml.h"

namespace penstock {
namespace {

// A job with libpenstock reports by then, and needs no GPU utilization.
constexpr uint64_t kReportsWithin_ns = 30'000'000'000;
// A report of GPU use older than this, in periods, is outdated.
constexpr uint64_t kFreshPeriods = 3;

}  // namespace

// Asynchronous and possibly slow. Until the result, no CPU counts as near.
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
  has_gpus_ = !gpus->empty();
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

bool Agent::wants_gpu_use(const Job& job, uint64_t now_ns) const {
  if (!job.managed || job.tasks.empty() || job.reports()) return false;
  if (now_ns - job.started_ns < kReportsWithin_ns) return false;
  return std::any_of(job.tasks.begin(), job.tasks.end(), [](const auto& task) {
    return gpu_count(fixed_text(task.second.start.gpus)) > 0;
  });
}

void Agent::look_at_gpu_use(uint64_t now_ns) {
  const uint64_t fresh_ns =
      kFreshPeriods * config_.sample_period_ms * 1'000'000;
  wants_gpu_use_ = false;
  for (auto& [id, job] : registry_.jobs()) {
    job.gpu_busy.reset();
    if (!wants_gpu_use(job, now_ns)) continue;
    wants_gpu_use_ = true;
    if (now_ns - gpu_use_ns_ > fresh_ns) continue;
    std::vector<std::string> lists;
    for (const auto& [pid, task] : job.tasks) {
      lists.emplace_back(fixed_text(task.start.gpus));
    }
    job.gpu_busy = mean_use(gpu_use_, lists);
  }
  if (wants_gpu_use_ && has_gpus_ && !watches_gpus_) begin_to_watch_gpus();
}

void Agent::begin_to_watch_gpus() {
  watches_gpus_ = true;
  watch_gpus(
      children_, kNvmlLibrary, config_.sample_period_ms,
      [this](const GpuUse& use) {
        gpu_use_ = use;
        gpu_use_ns_ = monotonic_ns();
        return wants_gpu_use_;
      },
      [this](const Status& ended) {
        watches_gpus_ = false;
        if (ended) return;
        has_gpus_ = false;  // not tried again until look_for_gpus()
        log_info("GPUs' use: unknown ({})", ended.error().message);
      });
}

}  // namespace penstock
