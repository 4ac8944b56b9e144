// A job's figures as counters that never decrease.
#include <algorithm>

#include "report/metrics.h"

namespace penstock {
namespace {

void raise_figure(std::optional<double>& told,
                  const std::optional<double>& now) {
  if (now) told = std::max(told.value_or(0), *now);
}

void raise_parts(WallParts& told, const WallParts& now) {
  double room_s = 0;  // growth of the wall time
  double wanted_s = 0;
  for (size_t i = 0; i < told.size(); ++i) {
    const double told_s = told[i].value_or(0);
    room_s += now[i].value_or(0) - told_s;
    if (now[i]) wanted_s += std::max(0.0, *now[i] - told_s);
  }
  const double share =
      wanted_s > 0 ? std::clamp(room_s / wanted_s, 0.0, 1.0) : 0.0;
  for (size_t i = 0; i < told.size(); ++i) {
    if (!now[i]) continue;
    const double told_s = told[i].value_or(0);
    told[i] = told_s + share * std::max(0.0, *now[i] - told_s);
  }
}

}  // namespace

WallParts wall_parts_s(const Breakdown& breakdown) {
  return {breakdown.compute.seconds, breakdown.fetch_stall.seconds,
          breakdown.prep_stall.seconds, breakdown.exchange_stall.seconds,
          breakdown.unattributed_s};
}

void raise(JobCounters& told, const JobCounters& now) {
  raise_figure(told.home_cpu_s, now.home_cpu_s);
  raise_figure(told.away_cpu_s, now.away_cpu_s);
  raise_figure(told.trainer_cpu_s, now.trainer_cpu_s);
  raise_figure(told.samples, now.samples);
  raise_figure(told.read_bytes, now.read_bytes);
  raise_parts(told.wall_s, now.wall_s);
  for (size_t i = 0; i < told.changes.size(); ++i) {
    told.changes[i] = std::max(told.changes[i], now.changes[i]);
  }
}

}  // namespace penstock
