#include "node_agent/plan/gpus.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <utility>

#include "common/protocol.h"

namespace penstock {
namespace {

// The last line. A child that dies early does not write it.
constexpr std::string_view kEnd = "end";

Error bad_line(std::string_view line) {
  return invalid(quoted(line) + ": not a line of a list of GPUs");
}

// Takes the text up to the separator off the front of `rest`. Returns false if
// there is no separator.
bool take(std::string_view& rest, char separator, std::string_view& taken) {
  const size_t end = rest.find(separator);
  if (end == std::string_view::npos) return false;
  taken = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return true;
}

// "NUMBER FILE DOMAIN BUS DEVICE FUNCTION", decimal. FILE is the device file's
// number plus 1; 0: unknown.
Result<Gpu> parse_gpu(std::string_view line) {
  constexpr std::array<uint64_t, 6> kHighest = {
      kMaxGpus - 1, 1'000'000, UINT32_MAX, 255, 31, 7};
  std::array<uint32_t, 6> fields{};
  std::string_view rest = line;
  for (size_t i = 0; i < fields.size(); ++i) {
    std::string_view field = rest;
    const bool is_last = i + 1 == fields.size();
    if (!is_last && !take(rest, ' ', field)) return bad_line(line);
    Result<uint64_t> value = parse_uint(field, 0, kHighest[i]);
    if (!value) return bad_line(line);
    fields[i] = static_cast<uint32_t>(*value);
  }
  return Gpu{int(fields[0]), int(fields[1]) - 1,
             PciAddress{fields[2], fields[3], fields[4], fields[5]}};
}

}  // namespace

std::string to_string(const PciAddress& address) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", address.domain,
                address.bus, address.device, address.function);
  return text.data();
}

std::string format_gpus(const std::vector<Gpu>& gpus) {
  std::string text;
  for (const Gpu& gpu : gpus) {
    text += std::to_string(gpu.number) + ' ' +
            std::to_string(gpu.device_file + 1) + ' ' +
            std::to_string(gpu.pci.domain) + ' ' + std::to_string(gpu.pci.bus) +
            ' ' + std::to_string(gpu.pci.device) + ' ' +
            std::to_string(gpu.pci.function) + '\n';
  }
  return text + std::string(kEnd) + '\n';
}

Result<std::vector<Gpu>> parse_gpus(std::string_view text) {
  std::vector<Gpu> gpus;
  std::set<int> numbers;
  std::set<PciAddress> addresses;
  std::string_view line;
  while (take(text, '\n', line)) {
    if (line == kEnd) {
      if (text.empty()) return gpus;
      return invalid("text after the end of a list of GPUs");
    }
    Result<Gpu> gpu = parse_gpu(line);
    if (!gpu) return std::move(gpu).error();
    if (!numbers.insert(gpu->number).second ||
        !addresses.insert(gpu->pci).second) {
      return invalid(quoted(line) + ": a GPU that is listed already");
    }
    gpus.push_back(*gpu);
  }
  return invalid("a list of GPUs is cut short");
}

bool numbered_as_files(const std::vector<Gpu>& gpus) {
  return std::all_of(gpus.begin(), gpus.end(), [](const Gpu& gpu) {
    return gpu.device_file < 0 || gpu.device_file == gpu.number;
  });
}

std::map<int, CpuSet> cpus_by_gpu(
    const std::vector<Gpu>& gpus,
    const std::map<PciAddress, CpuSet>& near_pci) {
  std::map<int, CpuSet> near_gpu;
  for (const Gpu& gpu : gpus) {
    const auto found = near_pci.find(gpu.pci);
    if (found != near_pci.end()) near_gpu[gpu.number] = found->second;
  }
  return near_gpu;
}

std::string describe(const std::vector<Gpu>& gpus,
                     const std::map<int, CpuSet>& near_gpu) {
  std::string text;
  for (const Gpu& gpu : gpus) {
    const auto cpus = near_gpu.find(gpu.number);
    if (!text.empty()) text += ", ";
    text += std::to_string(gpu.number) + " at " + to_string(gpu.pci);
    if (gpu.device_file >= 0) {
      text += " (/dev/nvidia" + std::to_string(gpu.device_file) + ")";
    }
    text += " near CPUs " +
            (cpus == near_gpu.end() ? "unknown" : cpus->second.to_string());
  }
  return text.empty() ? "none" : text;
}

// Slurm's GPU lists have the format of its CPU lists.
CpuSet gpu_numbers(std::string_view slurm_gpus) {
  // Text that fills its field may be truncated within its last number.
  if (slurm_gpus.size() >= sizeof(penstock_task_start::gpus)) return CpuSet();
  const CpuSet numbers = CpuSet::parse(slurm_gpus).value_or(CpuSet());
  return numbers.size() <= kMaxGpus ? numbers : CpuSet();
}

CpuSet cpus_near(const std::map<int, CpuSet>& near_gpu,
                 std::string_view slurm_gpus) {
  const CpuSet numbers = gpu_numbers(slurm_gpus);
  CpuSet near;
  for (const auto& [number, cpus] : near_gpu) {
    if (numbers.contains(number)) near = near | cpus;
  }
  return near;
}

}  // namespace penstock
