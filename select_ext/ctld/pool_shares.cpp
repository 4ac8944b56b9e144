#include "select_ext/ctld/pool_shares.h"

#include <algorithm>

namespace penstock {

double entitled_bytes_per_s(double bandwidth_bytes_per_s, double shares,
                            double all_shares) {
  return all_shares > 0 ? bandwidth_bytes_per_s * shares / all_shares : 0;
}

std::vector<PoolPart> share_pool(double bandwidth_bytes_per_s,
                                 const std::vector<PoolReader>& readers) {
  double all_shares = 0;
  for (const PoolReader& reader : readers) all_shares += reader.shares;
  std::vector<double> least;
  std::vector<PoolPart> parts;
  double sum_least = 0;
  double sum_needed = 0;
  for (const PoolReader& reader : readers) {
    const double entitled =
        entitled_bytes_per_s(bandwidth_bytes_per_s, reader.shares, all_shares);
    least.push_back(reader.gets_entitlement
                        ? entitled
                        : std::min(reader.floor_bytes_per_s, entitled));
    const double needed = std::max(least.back(), reader.wanted_bytes_per_s);
    parts.push_back({needed, needed});
    sum_least += least.back();
    sum_needed += needed;
  }
  const double over = sum_needed - sum_least;
  const double left = bandwidth_bytes_per_s - sum_needed;
  const double kept =
      over > 0 ? std::max(0.0, bandwidth_bytes_per_s - sum_least) / over : 1;
  for (size_t i = 0; i < parts.size(); ++i) {
    PoolPart& part = parts[i];
    if (left < 0) {
      part.needed_bytes_per_s =
          least[i] + kept * (part.needed_bytes_per_s - least[i]);
    }
    part.granted_bytes_per_s =
        part.needed_bytes_per_s +
        kDivided * std::max(0.0, left) * readers[i].shares / all_shares;
  }
  return parts;
}

}  // namespace penstock
