// The idle share of each CPU between two readings of /proc/stat.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

// CPU -> ticks, from the "cpuN" lines. Pure; skips other lines.
struct CpuTicks {
  uint64_t idle = 0;  // idle and iowait
  uint64_t user = 0;  // of programs: user and nice
  uint64_t total = 0;
};
[[nodiscard]] Result<std::map<int, CpuTicks>> parse_cpu_ticks(
    std::string_view text);

class CpuIdle {
 public:
  static Result<CpuIdle> open(const std::string& path = "/proc/stat");

  // Reads /proc/stat; shares() then covers the time since the last call. The
  // kernel counts in ticks of 10 ms, so a share over one 20 ms tick of the
  // control loop is coarse. The control loop therefore needs several in a row.
  Status refresh();

  // 0..1 by CPU; empty before the second refresh().
  const std::map<int, double>& shares() const { return shares_; }
  // The same of the time that programs computed, outside of the kernel.
  const std::map<int, double>& user_shares() const { return user_shares_; }

 private:
  explicit CpuIdle(UniqueFd fd) : fd_(std::move(fd)) {}
  Result<std::string_view> read_cpu_lines();  // valid until the next call

  UniqueFd fd_;
  std::string text_ = std::string(size_t{16} * 1024, '\0');
  std::map<int, CpuTicks> last_;
  std::map<int, double> shares_;
  std::map<int, double> user_shares_;
};

}  // namespace penstock
