#include "node_agent/totals.h"

#include <algorithm>

namespace penstock {

CpuUse cpu_use(const Totals& earlier, const Totals& later) {
  const auto grown = [&](double Totals::*counter) {
    return std::max(0.0, later.*counter - earlier.*counter);
  };
  CpuUse use{grown(&Totals::home_cpu_s), grown(&Totals::away_cpu_s),
             std::nullopt};
  if (earlier.job_cpu_s > 0) {
    use.trainer_s = std::max(0.0, grown(&Totals::job_cpu_s) - use.loader_s());
  }
  return use;
}

double contention_s(const Counters& earlier, const Counters& later,
                    double busy_s) {
  const double delay_s = (later.pages.delay_ns - earlier.pages.delay_ns) * 1e-9;
  const double home_s = later.home_cpu_s - earlier.home_cpu_s;
  return std::max(0.0, std::min({delay_s, home_s, busy_s}));
}

}  // namespace penstock
