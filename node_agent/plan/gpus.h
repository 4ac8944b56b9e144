// A node's GPUs: Slurm's numbers, PCI addresses, nearby CPUs. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/units.h"

namespace penstock {

struct PciAddress {
  uint32_t domain = 0;
  uint32_t bus = 0;
  uint32_t device = 0;
  uint32_t function = 0;

  // clang-tidy takes the compiler-generated comparison with 0 for ours.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const PciAddress&, const PciAddress&) = default;
};
// In lspci's format: "0000:17:00.0".
std::string to_string(const PciAddress& address);

struct Gpu {
  int number = 0;       // Slurm's number (SLURM_STEP_GPUS), NVML's index
  int device_file = 0;  // N of /dev/nvidiaN; -1: unknown
  PciAddress pci;

  friend bool operator==(const Gpu&, const Gpu&) = default;
};

inline constexpr int kMaxGpus = 256;  // per node

// The format in which the NVML child (nvml.h) reports the GPUs.
std::string format_gpus(const std::vector<Gpu>& gpus);
// Errors: kInvalidArgument  truncated text, a number out of range, text after
//                           the end, a duplicate number or address.
[[nodiscard]] Result<std::vector<Gpu>> parse_gpus(std::string_view text);

// What the driver says of a GPU; nullopt: it does not say.
struct GpuState {
  std::optional<double> busy;  // share of the time in which a kernel ran, 0..1
  std::optional<uint32_t> processes;  // that compute on it

  friend bool operator==(const GpuState&, const GpuState&) = default;
};
using GpuUse = std::map<int, GpuState>;             // by GPU number
inline constexpr uint32_t kMaxGpuProcesses = 9999;  // more count as these

// The format in which the NVML child reports the use, once a period.
std::string format_gpu_use(const GpuUse& use);
// Removes complete lists from the front of `text`, and returns the newest of
// them; nullopt: none is complete.
// Errors: kInvalidArgument  a malformed line, or more than 4096 bytes without
//                           the end of a list.
[[nodiscard]] Result<std::optional<GpuUse>> take_gpu_use(std::string& text);

// Mean over the GPUs that are in any of the lists and whose use is known;
// nullopt: none. Lists have the format of cpus_near()'s slurm_gpus.
std::optional<double> mean_use(const GpuUse& use,
                               const std::vector<std::string>& slurm_gpus);

// A job's GPUs: those in any of the lists.
struct GpusOfJob {
  uint32_t all = 0;
  // Of those whose processes are known; nullopt: none is.
  std::optional<uint32_t> without_process;
};
GpusOfJob gpus_of_lists(const GpuUse& use,
                        const std::vector<std::string>& slurm_gpus);

// True if each GPU N with a known device file is /dev/nvidiaN.
bool numbered_as_files(const std::vector<Gpu>& gpus);

// GPU number -> CPUs. GPUs whose address is not in near_pci are left out.
std::map<int, CpuSet> cpus_by_gpu(const std::vector<Gpu>& gpus,
                                  const std::map<PciAddress, CpuSet>& near_pci);

// One line for the log: "0 at 0000:17:00.0 (/dev/nvidia0) near CPUs 0-31, 1 at
// ...", or "none".
std::string describe(const std::vector<Gpu>& gpus,
                     const std::map<int, CpuSet>& near_gpu);

// Number of GPUs in such a list, at most kMaxGpus; 0 for any other text.
size_t gpu_count(std::string_view slurm_gpus);

// The CPUs near any of a task's GPUs. slurm_gpus is penstock_task_start's field
// ("0,2-3"). Malformed text and unknown GPUs give no CPUs.
CpuSet cpus_near(const std::map<int, CpuSet>& near_gpu,
                 std::string_view slurm_gpus);

}  // namespace penstock
