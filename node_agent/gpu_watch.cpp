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

// The time in which a task's GPUs are looked at for mistakes at its start.
constexpr uint64_t kNewTask_ns = 300'000'000'000;

bool has_new_task(const Job& job, uint64_t now_ns) {
  return std::any_of(job.tasks.begin(), job.tasks.end(),
                     [now_ns](const auto& entry) {
                       const Task& task = entry.second;
                       const auto since = task.known_since_ns.find(task.id.tid);
                       return since == task.known_since_ns.end() ||
                              now_ns - since->second < kNewTask_ns;
                     });
}

bool has_gpus(const Job& job) {
  return std::any_of(job.tasks.begin(), job.tasks.end(), [](const auto& task) {
    return gpu_count(fixed_text(task.second.start.gpus)) > 0;
  });
}

bool wants_gpu_use(const Job& job, uint64_t now_ns) {
  return !job.reports() && now_ns - job.started_ns >= kReportsWithin_ns;
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

GpusOfJob GpuWatch::gpus_of(const Job& job) const {
  const uint64_t now_ns = monotonic_ns();
  const bool is_watched =
      wants_use_ && is_fresh(now_ns) && has_new_task(job, now_ns);
  return gpus_of_lists(is_watched ? use_ : GpuUse(), job.gpu_lists());
}

bool GpuWatch::is_fresh(uint64_t now_ns) const {
  return now_ns - use_ns_ <=
         kFreshPeriods * node_.config.sample_period_ms * 1'000'000;
}

void GpuWatch::look_at_use(uint64_t now_ns) {
  wants_use_ = false;
  for (auto& [id, job] : node_.registry.jobs()) {
    job.gpu_busy.reset();
    if (!job.managed || job.tasks.empty() || !has_gpus(job)) continue;
    const bool wants_use = wants_gpu_use(job, now_ns);
    wants_use_ |= wants_use || has_new_task(job, now_ns);
    if (wants_use && is_fresh(now_ns)) {
      job.gpu_busy = mean_use(use_, job.gpu_lists());
    }
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
