// Lists NVIDIA GPUs and their utilization through NVML. Only child processes
// load the library, at run time: its calls may hang or crash with the driver.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "node_agent/bounded_child.h"
#include "node_agent/plan/gpu_use.h"
#include "node_agent/plan/gpus.h"

namespace penstock {

inline constexpr char kNvmlLibrary[] = "libnvidia-ml.so.1";
// Without a process that keeps the driver initialized, the first call
// initializes every GPU, which takes seconds. penstockd does not wait for it.
inline constexpr uint64_t kNvmlDeadline_ms = 30'000;

// library: a name for dlopen(3), or a path. Calls back once, with the GPUs in
// NVML's order, or with
//   kUnavailable      no library, no driver, or no answer within deadline_ms
//   kInvalidArgument  the library crashed, or returned impossible values
void find_gpus(BoundedChildren& children, const std::string& library,
               uint64_t deadline_ms,
               std::function<void(Result<std::vector<Gpu>>)> callback);

// Calls use() with what the GPUs do each period; NVML averages over the last
// second or less. Stops when use() returns false or a call fails, then
// calls ended() once: with Done, or with find_gpus()' errors.
void watch_gpus(BoundedChildren& children, const std::string& library,
                uint64_t period_ms, std::function<bool(const GpuUse& use)> use,
                std::function<void(Status)> ended);

}  // namespace penstock
