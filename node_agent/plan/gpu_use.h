// What a node's GPUs do, by what the driver says of them. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/result.h"
#include "common/units.h"

namespace penstock {

struct GpuMemory {
  uint64_t used_bytes = 0;
  uint64_t bytes = 0;  // of the GPU

  friend bool operator==(const GpuMemory&, const GpuMemory&) = default;
};

// What the driver says of a GPU; nullopt: it does not say.
struct GpuState {
  std::optional<double> busy;  // share of the time in which a kernel ran, 0..1
  std::optional<uint32_t> processes;  // that compute on it
  std::optional<GpuMemory> memory;

  friend bool operator==(const GpuState&, const GpuState&) = default;
};
using GpuUse = std::map<int, GpuState>;             // by GPU number
inline constexpr uint32_t kMaxGpuProcesses = 9999;  // more count as these
inline constexpr uint64_t kMaxGpuMiB = 99'999'999;  // of memory, likewise

// The format in which the NVML child reports the use, once a period.
std::string format_gpu_use(const GpuUse& use);
// Removes complete lists from the front of `text`, and returns the newest of
// them; nullopt: none is complete.
// Errors: kInvalidArgument  a malformed line, or more than 16384 bytes without
//                           the end of a list.
[[nodiscard]] Result<std::optional<GpuUse>> take_gpu_use(std::string& text);

// The states of these GPUs, as far as they are known.
GpuUse use_of(const GpuUse& use, const CpuSet& gpus);

// Mean over the GPUs whose use is known; nullopt: none.
std::optional<double> mean_busy(const GpuUse& use);

// Of the GPUs whose processes are known; nullopt: none is.
std::optional<uint32_t> without_process(const GpuUse& use);

// A job's use of its GPUs over its run.
struct GpuTotals {
  double watched_s = 0;  // time in which the use of at least one was known
  double busy_s = 0;     // of it: a kernel ran, averaged over these GPUs
  // GPU seconds of known use, and of these the ones in which a kernel ran.
  double watched_gpu_s = 0;
  double busy_gpu_s = 0;
  // The longest time in which no kernel was seen on one and the same GPU.
  double longest_idle_s = 0;
  std::optional<GpuMemory> memory;  // the most used of one GPU
  // By GPU: time since its last kernel, or since its use became known.
  std::map<int, double> idle_s;
  CpuSet gpus;   // all that it has had
  CpuSet known;  // of these, those whose use has been known

  // Adds a period in which the job had these GPUs, in these states.
  void add(const CpuSet& held, const GpuUse& use, double seconds);
};

}  // namespace penstock
