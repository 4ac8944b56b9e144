#include "node_agent/gpu_watch.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/wire_text.h"
#include "node_agent/nvml.h"

namespace penstock {
namespace {

// A report of GPU use older than this, in periods, is outdated.
constexpr uint64_t kFreshPeriods = 3;
constexpr uint64_t kTryAgain_ns = 600'000'000'000;

}  // namespace

void GpuWatch::look_for_gpus(GrantCause cause) {
  find_gpus(children_, kNvmlLibrary, kNvmlDeadline_ms,
            [this, cause](const Result<std::vector<Gpu>>& gpus) {
              take(gpus, cause);
            });
}

void GpuWatch::take(const Result<std::vector<Gpu>>& gpus, GrantCause cause) {
  if (!gpus) {
    has_gpus_ = false;
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
        "preferred, and the use of another one be told");
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

bool GpuWatch::is_fresh(uint64_t now_ns) const {
  return now_ns - use_ns_ <=
         kFreshPeriods * node_.config.sample_period_ms * 1'000'000;
}

void GpuWatch::look_at_use(uint64_t now_ns) {
  wants_use_ = false;
  for (auto& [id, job] : node_.registry.jobs()) {
    job.gpu_use.clear();
    const CpuSet gpus = job.managed ? job.gpus() : CpuSet();
    if (gpus.empty()) continue;
    wants_use_ = true;
    if (is_fresh(now_ns)) job.gpu_use = use_of(use_, gpus);
  }
  if (wants_use_ && has_gpus_ && !is_watching_ && now_ns >= not_before_ns_) {
    begin_to_watch();
  }
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
        not_before_ns_ = monotonic_ns() + kTryAgain_ns;
        log_info("GPUs' use: unknown ({}); tried again in {} minutes",
                 ended.error().message, kTryAgain_ns / 60'000'000'000);
      });
}

}  // namespace penstock
