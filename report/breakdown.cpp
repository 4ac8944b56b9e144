// The breakdown of wall time: parts that add up by construction.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/report.h"

namespace penstock {
namespace {

void clamp_seconds(std::optional<double>& seconds, double most_s) {
  if (!seconds) return;
  if (!std::isfinite(*seconds)) {
    seconds.reset();
  } else {
    seconds = std::clamp(*seconds, 0.0, most_s);
  }
}

}  // namespace

Breakdown make_breakdown(Breakdown out) {
  out.wall_s = std::isfinite(out.wall_s) ? std::max(out.wall_s, 0.0) : 0.0;
  TimePart* parts[] = {&out.compute, &out.fetch_stall, &out.prep_stall,
                       &out.exchange_stall};
  double known_s = 0;
  for (TimePart* part : parts) {
    clamp_seconds(part->seconds, out.wall_s);
    known_s += part->seconds.value_or(0);
  }
  if (known_s > out.wall_s) {
    for (TimePart* part : parts) {
      if (part->seconds) *part->seconds *= out.wall_s / known_s;
    }
    known_s = out.wall_s;
  }
  out.unattributed_s = out.wall_s - known_s;
  clamp_seconds(out.waited_s, out.wall_s);
  clamp_seconds(out.contention_s, out.prep_stall.seconds.value_or(0));
  return out;
}

std::array<int, kBreakdownParts> rounded_shares(const Breakdown& breakdown,
                                                int units) {
  std::array<int, kBreakdownParts> shares{};
  if (!(breakdown.wall_s > 0)) return shares;
  const double parts_s[] = {breakdown.compute.seconds.value_or(0),
                            breakdown.fetch_stall.seconds.value_or(0),
                            breakdown.prep_stall.seconds.value_or(0),
                            breakdown.exchange_stall.seconds.value_or(0),
                            breakdown.unattributed_s};
  std::array<double, kBreakdownParts> remainders{};
  for (size_t i = 0; i < kBreakdownParts; ++i) {
    double exact = parts_s[i] / breakdown.wall_s * units;
    shares[i] = static_cast<int>(std::floor(exact));
    remainders[i] = exact - shares[i];
  }
  // Largest remainder method: the missing units go to the largest remainders.
  int missing = units - std::accumulate(shares.begin(), shares.end(), 0);
  for (; missing > 0; --missing) {
    auto* most = std::max_element(remainders.begin(), remainders.end());
    *most = -1;
    ++shares[size_t(most - remainders.begin())];
  }
  return shares;
}

}  // namespace penstock
