#include "select_ext/ctld/pool_shares.h"

#include <algorithm>

namespace penstock {

double entitled_bytes_per_s(double bandwidth_bytes_per_s, double shares,
                            double all_shares) {
  return all_shares > 0 ? bandwidth_bytes_per_s * shares / all_shares : 0;
}

std::vector<double> share_pool(double bandwidth_bytes_per_s,
                               const std::vector<PoolReader>& readers) {
  double all_shares = 0;
  for (const PoolReader& reader : readers) all_shares += reader.shares;
  std::vector<double> least;
  std::vector<double> granted;
  double sum_least = 0;
  double sum_granted = 0;
  for (const PoolReader& reader : readers) {
    const double entitled =
        entitled_bytes_per_s(bandwidth_bytes_per_s, reader.shares, all_shares);
    least.push_back(reader.gets_entitlement
                        ? entitled
                        : std::min(reader.floor_bytes_per_s, entitled));
    granted.push_back(std::max(least.back(), reader.wanted_bytes_per_s));
    sum_least += least.back();
    sum_granted += granted.back();
  }
  const double over = sum_granted - sum_least;
  if (sum_granted > bandwidth_bytes_per_s && over > 0) {
    const double kept = std::max(0.0, bandwidth_bytes_per_s - sum_least) / over;
    for (size_t i = 0; i < granted.size(); ++i) {
      granted[i] = least[i] + kept * (granted[i] - least[i]);
    }
    return granted;
  }
  const double left = std::max(0.0, bandwidth_bytes_per_s - sum_granted);
  for (size_t i = 0; i < granted.size(); ++i) {
    granted[i] += left * readers[i].shares / all_shares;
  }
  return granted;
}

}  // namespace penstock
