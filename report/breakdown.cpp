// The breakdown of wall time: parts that add up by construction.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/report.h"

namespace penstock {
namespace {

void clamp_part(TimePart& part, double wall_s) {
  if (!part.seconds) return;
  if (!std::isfinite(*part.seconds)) {
    part.seconds.reset();
  } else {
    part.seconds = std::clamp(*part.seconds, 0.0, wall_s);
  }
}

}  // namespace

Breakdown make_breakdown(double wall_s, TimePart compute, TimePart fetch_stall,
                         TimePart prep_stall, std::optional<double> waited_s) {
  Breakdown out;
  out.wall_s = std::isfinite(wall_s) ? std::max(wall_s, 0.0) : 0.0;
  out.compute = std::move(compute);
  out.fetch_stall = std::move(fetch_stall);
  out.prep_stall = std::move(prep_stall);
  TimePart* parts[] = {&out.compute, &out.fetch_stall, &out.prep_stall};
  double known_s = 0;
  for (TimePart* part : parts) {
    clamp_part(*part, out.wall_s);
    known_s += part->seconds.value_or(0);
  }
  if (known_s > out.wall_s) {
    for (TimePart* part : parts) {
      if (part->seconds) *part->seconds *= out.wall_s / known_s;
    }
    known_s = out.wall_s;
  }
  out.unattributed_s = out.wall_s - known_s;
  if (waited_s && std::isfinite(*waited_s)) {
    out.waited_s = std::clamp(*waited_s, 0.0, out.wall_s);
  }
  return out;
}

std::array<int, 4> rounded_shares(const Breakdown& breakdown, int units) {
  std::array<int, 4> shares{};
  if (!(breakdown.wall_s > 0)) return shares;
  const double parts_s[] = {breakdown.compute.seconds.value_or(0),
                            breakdown.fetch_stall.seconds.value_or(0),
                            breakdown.prep_stall.seconds.value_or(0),
                            breakdown.unattributed_s};
  double remainders[4];
  for (int i = 0; i < 4; ++i) {
    double exact = parts_s[i] / breakdown.wall_s * units;
    shares[i] = static_cast<int>(std::floor(exact));
    remainders[i] = exact - shares[i];
  }
  // The units lost to rounding down go to those that lost most.
  int missing = units - std::accumulate(shares.begin(), shares.end(), 0);
  for (; missing > 0; --missing) {
    auto* most = std::max_element(remainders, remainders + 4);
    *most = -1;
    ++shares[most - remainders];
  }
  return shares;
}

}  // namespace penstock
