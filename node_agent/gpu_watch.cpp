#include "node_agent/gpu_watch.h"

#include <algorithm>

#include "common/clock.h"
#include "common/log.h"
#include "common/wire_text.h"
#include "node_agent/nvml.h"

namespace penstock {
namespace {

// A job with libpenstock reports by then, and needs no GPU utilization.
constexpr uint64_t kReportsWithin_ns = 30'000'000'000;
// A report of GPU use older than this, in periods, is outdated.
constexpr uint64_t kFreshPeriods = 3;

bool wants_gpu_use(const Job& job, uint64_t now_ns) {
  if (!job.managed || job.tasks.empty() || job.reports()) return false;
  if (now_ns - job.started_ns < kReportsWithin_ns) return false;
  return std::any_of(job.tasks.begin(), job.tasks.end(), [](const auto& task) {
    return gpu_count(fixed_text(task.second.start.gpus)) > 0;
  });
}

}  // namespace

void GpuWatch::look_for_gpus(GrantCause cause) {
  find_gpus(children_, kNvmlLibrary, kNvmlDeadline_ms,
            [this, cause](const Result<std::vector<Gpu>>& gpus) {
              take(gpus, cause);
            });
}

void GpuWatch::take(const Result<std::vector<Gpu>>& gpus, GrantCause cause) {
  if (!gpus) {
    log_info("GPUs: unknown ({}); lent CPUs are chosen by {}",
             gpus.error().message,
             near_gpu_.empty() ? "NUMA node" : "what was found before");
    return;
  }
  has_gpus_ = !gpus->empty();
  std::map<int, CpuSet> near_gpu =
      cpus_by_gpu(*gpus, node_.machine.topology.near_pci);
  log_info("GPUs: {}", describe(*gpus, near_gpu));
  if (!numbered_as_files(*gpus)) {
    log_warning(
        "GPUs' numbers are not those of /dev/nvidiaN: without "
        "AutoDetect=nvml in gres.conf, CPUs near the wrong GPU may be "
        "preferred");
  }
  if (near_gpu == near_gpu_) return;
  near_gpu_ = std::move(near_gpu);
  replan_(cause);
}

CpuSet GpuWatch::cpus_near_gpus_of(const Job& job) const {
  CpuSet near;
  for (const auto& [pid, task] : job.tasks) {
    near = near | cpus_near(near_gpu_, fixed_text(task.start.gpus));
  }
  return near;
}

void GpuWatch::look_at_use(uint64_t now_ns) {
  const uint64_t fresh_ns =
      kFreshPeriods * node_.config.sample_period_ms * 1'000'000;
  wants_use_ = false;
  for (auto& [id, job] : node_.registry.jobs()) {
    job.gpu_busy.reset();
    if (!wants_gpu_use(job, now_ns)) continue;
    wants_use_ = true;
    if (now_ns - use_ns_ > fresh_ns) continue;
    std::vector<std::string> lists;
    for (const auto& [pid, task] : job.tasks) {
      lists.emplace_back(fixed_text(task.start.gpus));
    }
    job.gpu_busy = mean_use(use_, lists);
  }
  if (wants_use_ && has_gpus_ && !is_watching_) begin_to_watch();
}

void GpuWatch::begin_to_watch() {
  is_watching_ = true;
  watch_gpus(
      children_, kNvmlLibrary, node_.config.sample_period_ms,
      [this](const GpuUse& use) {
        use_ = use;
        use_ns_ = monotonic_ns();
        return wants_use_;
      },
      [this](const Status& ended) {
        is_watching_ = false;
        if (ended) return;
        has_gpus_ = false;  // not tried again until look_for_gpus()
        log_info("GPUs' use: unknown ({})", ended.error().message);
      });
}

}  // namespace penstock
