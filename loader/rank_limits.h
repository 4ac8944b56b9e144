// Holds the calling process's rank to less than it has, while it is measured:
// by penstockd, or by whole CPUs where that cannot.
#pragma once

#include <sched.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/analysis_messages.h"

namespace penstock {

// Used by one thread. What was changed is put back when it goes; penstockd's
// limits lapse also when the process is killed.
class RankLimits {
 public:
  // socket_path: penstockd's; "": $PENSTOCK_SOCKET, or else the default.
  explicit RankLimits(std::string socket_path = "");
  ~RankLimits();
  RankLimits(const RankLimits&) = delete;
  RankLimits& operator=(const RankLimits&) = delete;

  // Sets both limits, or none; fills in how, and why not, into ready. Takes up
  // to a second.
  void set(const std::optional<double>& cores,
           const std::optional<double>& bytes_per_s, AnalysisReady& ready);

  // To be called often: repeats what would lapse.
  void renew(uint64_t now_ns);

 private:
  // 0, or an errno value; why is set then.
  int ask(uint32_t millicores, uint64_t bytes_per_s, bool ends,
          std::string& why) const;
  bool set_affinity(double cores);  // false: not so many whole CPUs
  void restore_affinity();

  std::string socket_path_;
  std::map<pid_t, cpu_set_t> affinities_;  // of all threads before that
  bool held_ = false;                      // by penstockd
  uint32_t millicores_ = 0;
  uint64_t bytes_per_s_ = 0;
  uint64_t renewed_ns_ = 0;
};

}  // namespace penstock
