#include "node_agent/cpu_idle.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "common/text_scan.h"

namespace penstock {
namespace {

// user nice system idle iowait irq softirq steal; user includes guest.
constexpr int kFields = 8;

Result<CpuTicks> parse_fields(std::string_view fields) {
  CpuTicks ticks;
  for (int i = 0; i < kFields; ++i) {
    uint64_t value = 0;
    if (!take_number(fields, value)) {
      return invalid("/proc/stat: a cpu line has fewer than 8 numbers");
    }
    ticks.total += value;
    if (i == 3 || i == 4) ticks.idle += value;
    if (i < 2) ticks.user += value;
  }
  return ticks;
}

}  // namespace

Result<std::map<int, CpuTicks>> parse_cpu_ticks(std::string_view text) {
  std::map<int, CpuTicks> ticks;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    uint64_t cpu = 0;
    if (!line.starts_with("cpu") || line.size() < 4 || line[3] == ' ') continue;
    line.remove_prefix(3);
    if (!take_number(line, cpu) || cpu > 4095) {
      return invalid("/proc/stat: a cpu line without a CPU number");
    }
    Result<CpuTicks> fields = parse_fields(line);
    if (!fields) return std::move(fields).error();
    ticks[static_cast<int>(cpu)] = *fields;
  }
  return ticks;
}

Result<CpuIdle> CpuIdle::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return system_error(errno, path);
  return CpuIdle(std::move(fd));
}

// Keeps the buffer, which has some 100 bytes for each CPU.
Result<std::string_view> CpuIdle::read_cpu_lines() {
  while (true) {
    const ssize_t size = ::pread(fd_.get(), text_.data(), text_.size(), 0);
    if (size < 0) return system_error(errno, "/proc/stat");
    const std::string_view text(text_.data(), static_cast<size_t>(size));
    const size_t end = text.find("\nintr");  // the line after the CPUs'
    if (end != text.npos) return text.substr(0, end + 1);
    if (text.size() < text_.size()) return text;
    text_.resize(2 * text_.size());
  }
}

Status CpuIdle::refresh() {
  Result<std::string_view> text = read_cpu_lines();
  if (!text) return std::move(text).error();
  Result<std::map<int, CpuTicks>> now = parse_cpu_ticks(*text);
  if (!now) return std::move(now).error();
  shares_.clear();
  user_shares_.clear();
  for (const auto& [cpu, ticks] : *now) {
    const auto before = last_.find(cpu);
    if (before == last_.end() || ticks.total <= before->second.total) continue;
    const auto share = [&, &now = ticks](uint64_t CpuTicks::*kind) {
      const uint64_t then = before->second.*kind;
      return double(now.*kind - std::min(now.*kind, then)) /
             double(now.total - before->second.total);
    };
    shares_[cpu] = share(&CpuTicks::idle);
    user_shares_[cpu] = share(&CpuTicks::user);
  }
  last_ = *std::move(now);
  return Done{};
}

}  // namespace penstock
