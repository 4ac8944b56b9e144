// A node's GPUs: Slurm's numbers, PCI addresses, nearby CPUs. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
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

// True if each GPU N with a known device file is /dev/nvidiaN.
bool numbered_as_files(const std::vector<Gpu>& gpus);

// GPU number -> CPUs. GPUs whose address is not in near_pci are left out.
std::map<int, CpuSet> cpus_by_gpu(const std::vector<Gpu>& gpus,
                                  const std::map<PciAddress, CpuSet>& near_pci);

// One line for the log: "0 at 0000:17:00.0 (/dev/nvidia0) near CPUs 0-31, 1 at
// ...", or "none".
std::string describe(const std::vector<Gpu>& gpus,
                     const std::map<int, CpuSet>& near_gpu);

// The numbers in such a list; empty for any other text.
CpuSet gpu_numbers(std::string_view slurm_gpus);

// The CPUs near any of a task's GPUs. slurm_gpus is penstock_task_start's field
// ("0,2-3"). Malformed text and unknown GPUs give no CPUs.
CpuSet cpus_near(const std::map<int, CpuSet>& near_gpu,
                 std::string_view slurm_gpus);

}  // namespace penstock
