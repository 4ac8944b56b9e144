#include "node_agent/plan/gpu_use.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "node_agent/plan/gpus.h"

namespace penstock {
namespace {

// The last line. A child that dies early does not write it.
constexpr std::string_view kEnd = "end";
constexpr const char* kUnknown = "-";
constexpr size_t kLongestUse = 16384;
constexpr double kMiB = 1024 * 1024;

std::string text_of(const std::optional<double>& value, uint64_t most) {
  if (!value) return kUnknown;
  return std::to_string(std::lround(std::clamp(*value, 0.0, double(most))));
}

Error bad_line(std::string_view line) {
  return invalid(quoted(line) + ": not a line of a list of GPUs' use");
}

// "GPU PERCENT PROCESSES USED TOTAL", the latter two in MiB of memory. All but
// the first may be "-".
using Fields = std::array<std::optional<uint64_t>, 5>;
constexpr Fields kHighest = {kMaxGpus - 1, 100, kMaxGpuProcesses, kMaxGpuMiB,
                             kMaxGpuMiB};

Result<Fields> fields_of(std::string_view line) {
  Fields fields;
  std::string_view rest = line;
  for (size_t i = 0; i < fields.size(); ++i) {
    const bool is_last = i + 1 == fields.size();
    const size_t end = is_last ? rest.size() : rest.find(' ');
    if (end == std::string_view::npos) return bad_line(line);
    const std::string_view field = rest.substr(0, end);
    rest.remove_prefix(is_last ? end : end + 1);
    if (field == kUnknown) continue;
    const Result<uint64_t> value = parse_uint(field, 0, *kHighest[i]);
    if (!value) return bad_line(line);
    fields[i] = *value;
  }
  if (!fields[0]) return bad_line(line);
  return fields;
}

Status read_use(std::string_view line, GpuUse& use) {
  const Result<Fields> fields = fields_of(line);
  if (!fields) return fields.error();
  const auto& [gpu, percent, processes, used, total] = *fields;
  GpuState& state = use[int(*gpu)] = {};
  if (percent) state.busy = double(*percent) / 100;
  if (processes) state.processes = uint32_t(*processes);
  if (used && total) {
    state.memory = {*used * uint64_t(kMiB), *total * uint64_t(kMiB)};
  }
  return Done{};
}

std::string line_of(int number, const GpuState& gpu) {
  std::optional<double> percent, processes, used, total;
  if (gpu.busy) percent = *gpu.busy * 100;
  if (gpu.processes) processes = *gpu.processes;
  if (gpu.memory) {
    used = double(gpu.memory->used_bytes) / kMiB;
    total = double(gpu.memory->bytes) / kMiB;
  }
  return std::to_string(number) + ' ' + text_of(percent, 100) + ' ' +
         text_of(processes, kMaxGpuProcesses) + ' ' +
         text_of(used, kMaxGpuMiB) + ' ' + text_of(total, kMaxGpuMiB) + '\n';
}

}  // namespace

std::string format_gpu_use(const GpuUse& use) {
  std::string text;
  for (const auto& [number, gpu] : use) text += line_of(number, gpu);
  return text + std::string(kEnd) + '\n';
}

Result<std::optional<GpuUse>> take_gpu_use(std::string& text) {
  std::optional<GpuUse> newest;
  GpuUse use;
  size_t taken = 0;
  for (size_t begin = 0, end = 0;
       (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string_view line(text.data() + begin, end - begin);
    if (line != kEnd) {
      if (Status read = read_use(line, use); !read) {
        return std::move(read).error();
      }
      continue;
    }
    newest = std::exchange(use, {});
    taken = end + 1;
  }
  text.erase(0, taken);
  if (text.size() > kLongestUse) return invalid("a list of GPUs has no end");
  return newest;
}

GpuUse use_of(const GpuUse& use, const CpuSet& gpus) {
  GpuUse out;
  for (const auto& [number, gpu] : use) {
    if (gpus.contains(number)) out[number] = gpu;
  }
  return out;
}

std::optional<double> mean_busy(const GpuUse& use) {
  double sum = 0;
  int known = 0;
  for (const auto& [number, gpu] : use) {
    if (!gpu.busy) continue;
    sum += *gpu.busy;
    ++known;
  }
  if (known == 0) return std::nullopt;
  return sum / known;
}

std::optional<uint32_t> without_process(const GpuUse& use) {
  std::optional<uint32_t> out;
  for (const auto& [number, gpu] : use) {
    if (gpu.processes) out = out.value_or(0) + (*gpu.processes == 0 ? 1 : 0);
  }
  return out;
}

void GpuTotals::add(const CpuSet& held, const GpuUse& use, double seconds) {
  gpus = gpus | held;
  if (const std::optional<double> busy = mean_busy(use)) {
    watched_s += seconds;
    busy_s += *busy * seconds;
  }
  std::map<int, double> idle;
  for (const auto& [number, gpu] : use) {
    if (gpu.memory &&
        (!memory || memory->used_bytes < gpu.memory->used_bytes)) {
      memory = gpu.memory;
    }
    if (!gpu.busy) continue;
    known = known | CpuSet({number});
    watched_gpu_s += seconds;
    busy_gpu_s += *gpu.busy * seconds;
    const auto before = idle_s.find(number);
    const double so_far = before == idle_s.end() ? 0 : before->second;
    idle[number] = *gpu.busy > 0 ? 0 : so_far + seconds;
    longest_idle_s = std::max(longest_idle_s, idle[number]);
  }
  idle_s = std::move(idle);
}

}  // namespace penstock
