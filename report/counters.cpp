// A job's figures as counters that never decrease.
#include <algorithm>

#include "report/metrics.h"

namespace penstock {
namespace {

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

void raise(JobCounters& told, const JobCounters& now) {
  for (const auto figure : kJobFigures) {
    if (now.*figure) {
      told.*figure = std::max((told.*figure).value_or(0), *(now.*figure));
    }
  }
  raise_parts(told.wall_s, now.wall_s);
  for (size_t i = 0; i < told.changes.size(); ++i) {
    told.changes[i] = std::max(told.changes[i], now.changes[i]);
  }
}

}  // namespace penstock
