// A node's GPUs: their numbers in Slurm, their places on the PCI bus, and the
// CPUs near them. Pure.
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

  // clang-tidy takes the comparison with 0 that the compiler makes up for ours.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const PciAddress&, const PciAddress&) = default;
};
// As lspci writes it: "0000:17:00.0".
std::string to_string(const PciAddress& address);

struct Gpu {
  int number = 0;       // as SLURM_STEP_GPUS counts: NVML's index
  int device_file = 0;  // N of /dev/nvidiaN; -1: unknown
  PciAddress pci;

  friend bool operator==(const Gpu&, const Gpu&) = default;
};

inline constexpr int kMaxGpus = 256;  // of one node

// What the child that asks NVML writes (nvml.h), and reads back from it.
std::string format_gpus(const std::vector<Gpu>& gpus);
// Errors: kInvalidArgument  cut short, a number out of range, trailing text, a
//                           number or an address that comes twice.
[[nodiscard]] Result<std::vector<Gpu>> parse_gpus(std::string_view text);

// Share of the time that a kernel ran, by GPU number.
using GpuUse = std::map<int, double>;

// What the child that watches GPUs writes a period, and is read from it.
std::string format_gpu_use(const GpuUse& use);
// Takes whole lists off the front of text, which is left with what is not whole
// yet; the newest of them, or nullopt where there is none.
// Errors: kInvalidArgument  a line that is none, or of more than 4096 bytes.
[[nodiscard]] Result<std::optional<GpuUse>> take_gpu_use(std::string& text);

// Averaged over the GPUs that any of the lists names and that are known;
// nullopt: none is. The lists are as those of cpus_near().
std::optional<double> mean_use(const GpuUse& use,
                               const std::vector<std::string>& slurm_gpus);

// True where GPU N is /dev/nvidiaN, of all whose file is known.
bool numbered_as_files(const std::vector<Gpu>& gpus);

// GPU number -> CPUs. GPUs whose address is not in near_pci are left out.
std::map<int, CpuSet> cpus_by_gpu(const std::vector<Gpu>& gpus,
                                  const std::map<PciAddress, CpuSet>& near_pci);

// For the log, on one line: "0 at 0000:17:00.0 (/dev/nvidia0) near CPUs 0-31,
// 1 at ...", or "none".
std::string describe(const std::vector<Gpu>& gpus,
                     const std::map<int, CpuSet>& near_gpu);

// How many GPUs such a list names; 0 for any other text.
size_t gpu_count(std::string_view slurm_gpus);

// The CPUs near any of a task's GPUs; slurm_gpus is penstock_task_start's
// field ("0,2-3"). It is a job's environment and may hold anything: of text
// that is no such list, and of GPUs that are not there, nothing is near.
CpuSet cpus_near(const std::map<int, CpuSet>& near_gpu,
                 std::string_view slurm_gpus);

}  // namespace penstock
