// Which GPUs the NVIDIA driver has and how busy they are, through NVML. The
// library is loaded at run time, and only by a child: its calls may hang or
// crash with the driver.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "node_agent/bounded_child.h"
#include "node_agent/gpus.h"

namespace penstock {

inline constexpr char kNvmlLibrary[] = "libnvidia-ml.so.1";
// Where nothing keeps the driver initialized, the first call does that for
// every GPU, for seconds. Nobody waits for it.
inline constexpr uint64_t kNvmlDeadline_ms = 30'000;

// library: a name for dlopen(3), or a path. Calls back later, once: with the
// GPUs in NVML's order, or
//   kUnavailable      no library, no driver, or no answer in time
//   kInvalidArgument  the library crashed, or gave what cannot be
void find_gpus(BoundedChildren& children, const std::string& library,
               uint64_t deadline_ms,
               std::function<void(Result<std::vector<Gpu>>)> callback);

// Tells the GPUs' use each period, which lies in the last second or less of it,
// until use() returns false, or asking fails; then ended() is called, once:
// with Done, or as find_gpus() does with kUnavailable or kInvalidArgument.
void watch_gpus(BoundedChildren& children, const std::string& library,
                uint64_t period_ms, std::function<bool(const GpuUse& use)> use,
                std::function<void(Status)> ended);

}  // namespace penstock
