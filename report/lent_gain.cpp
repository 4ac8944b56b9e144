#include "report/lent_gain.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text.h"

namespace penstock {
namespace {

// CPU time of a job, in all and as it would have been on its own CPUs alone.
class CpuTime {
 public:
  explicit CpuTime(double own_cpus) : own_cpus_(own_cpus) {}

  // used: cores, over this time. Unknown use is left out.
  void add(double duration_s, const std::optional<double>& home,
           const std::optional<double>& away,
           const std::optional<double>& trainer) {
    if (!home || !away || !trainer) return;
    const double used = *home + *away + *trainer;
    used_s_ += duration_s * used;
    own_s_ += duration_s * std::min(used, own_cpus_);
  }

  std::optional<double> gain() const {
    if (!(own_s_ > 0)) return std::nullopt;
    return used_s_ / own_s_ - 1;
  }

 private:
  double own_cpus_, used_s_ = 0, own_s_ = 0;
};

}  // namespace

std::optional<double> lent_gain(const JobReport& report) {
  const CoreFigures& cores = report.cores;
  if (!cores.allocated || !cores.used_away) return std::nullopt;
  CpuTime time(*cores.allocated);
  for (const TimelinePoint& point : report.timeline) {
    time.add(point.duration_s, point.used_home_cores, point.used_away_cores,
             point.used_trainer_cores);
  }
  if (time.gain()) return time.gain();
  time.add(1, cores.used_home, cores.used_away, cores.used_trainer);
  return time.gain();
}

std::string lent_gain_text(const JobReport& report) {
  const std::optional<double> gain = lent_gain(report);
  constexpr double kLeast = 0.005;  // would be told as 0%
  if (gain.value_or(0) < kLeast) return "";
  return "By CPU time, lent CPUs raised the throughput by about " +
         share_text(gain);
}

}  // namespace penstock
