// How idle each CPU was between two looks, from /proc/stat.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

// CPU -> {idle, total} ticks, of the "cpuN" lines. Pure; passes over others.
struct CpuTicks {
  uint64_t idle = 0;  // idle and iowait
  uint64_t total = 0;
};
[[nodiscard]] Result<std::map<int, CpuTicks>> parse_cpu_ticks(
    std::string_view text);

class CpuIdle {
 public:
  static Result<CpuIdle> open();

  // Reads anew; shares() then covers the time since the read before. The
  // kernel counts in ticks of 10 ms: over one tick of the loop a share is
  // coarse, and the closed loop asks for several in a row.
  Status refresh();

  // 0..1 by CPU; empty before the second refresh().
  const std::map<int, double>& shares() const { return shares_; }

 private:
  explicit CpuIdle(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
  std::map<int, CpuTicks> last_;
  std::map<int, double> shares_;
};

}  // namespace penstock
