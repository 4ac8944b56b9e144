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
  double known_s = 0;
  for (const WallPartNames& it : kWallParts) {
    std::optional<double>& part_s = out.parts[it.part].seconds;
    clamp_seconds(part_s, out.wall_s);
    known_s += part_s.value_or(0);
  }
  if (known_s > out.wall_s) {
    for (const WallPartNames& it : kWallParts) {
      std::optional<double>& part_s = out.parts[it.part].seconds;
      if (part_s) *part_s *= out.wall_s / known_s;
    }
    known_s = out.wall_s;
  }
  out.unattributed_s = out.wall_s - known_s;
  clamp_seconds(out.waited_s, out.wall_s);
  clamp_seconds(out.contention_s,
                out.parts[kContendedPart].seconds.value_or(0));
  return out;
}

WallParts wall_parts_s(const Breakdown& breakdown) {
  WallParts parts_s;
  for (const WallPartNames& it : kWallParts) {
    parts_s[size_t(it.part)] = breakdown.parts[it.part].seconds;
  }
  parts_s.back() = breakdown.unattributed_s;
  return parts_s;
}

std::array<int, kBreakdownParts> rounded_shares(const Breakdown& breakdown,
                                                int units) {
  std::array<int, kBreakdownParts> shares{};
  if (!(breakdown.wall_s > 0)) return shares;
  const WallParts parts_s = wall_parts_s(breakdown);
  std::array<double, kBreakdownParts> remainders{};
  for (size_t i = 0; i < kBreakdownParts; ++i) {
    double exact = parts_s[i].value_or(0) / breakdown.wall_s * units;
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
