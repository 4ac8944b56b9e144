// Limits the calling rank to less than it has, for a measurement: through
// penstockd, or by affinity to whole CPUs if penstockd cannot.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/units.h"
#include "wire/analysis_messages.h"

namespace penstock {

// For one thread. The destructor undoes the limits. Those of penstockd also
// lapse if the process is killed.
class RankLimits {
 public:
  // socket_path: penstockd's; "": $PENSTOCK_SOCKET, or else the default path.
  explicit RankLimits(std::string socket_path = "");
  ~RankLimits();
  RankLimits(const RankLimits&) = delete;
  RankLimits& operator=(const RankLimits&) = delete;

  // Sets both limits through penstockd. If it refuses, limits only the cores,
  // by affinity. ready: gets the means of each limit, or why there is none.
  // Each of penstockd's two requests may block for seconds.
  void set(const std::optional<double>& cores,
           const std::optional<double>& bytes_per_s, AnalysisReady& ready);

  // Renews penstockd's limits before they lapse; call it often.
  void renew(uint64_t now_ns);

 private:
  // 0, or an errno value with `why` set.
  int ask(uint32_t millicores, uint64_t bytes_per_s, bool ends,
          std::string& why) const;
  bool set_affinity(double cores);  // false: not as many whole CPUs
  void restore_affinity();

  std::string socket_path_;
  std::map<pid_t, CpuSet> affinities_;  // of all threads before the limit
  bool held_ = false;                   // penstockd has limits for this rank
  uint32_t millicores_ = 0;
  uint64_t bytes_per_s_ = 0;
  uint64_t renewed_ns_ = 0;
};

}  // namespace penstock
