#include "node_agent/plan/latency.h"

#include <algorithm>
#include <cmath>

namespace penstock {

void LatencyRecord::add_ms(double value_ms) {
  if (values_.size() < kKept) {
    values_.push_back(value_ms);
  } else {
    values_[next_] = value_ms;
    next_ = (next_ + 1) % kKept;
  }
  ++count_;
  sum_ms_ += value_ms;
  max_ms_ = std::max(max_ms_, value_ms);
}

double LatencyRecord::percentile_ms(double share) const {
  if (values_.empty()) return 0;
  std::vector<double> sorted = values_;
  const auto rank = static_cast<size_t>(std::ceil(
      std::clamp(share, 0.0, 1.0) * static_cast<double>(sorted.size())));
  const size_t index = rank == 0 ? 0 : rank - 1;
  std::nth_element(sorted.begin(),
                   sorted.begin() + static_cast<std::ptrdiff_t>(index),
                   sorted.end());
  return sorted[index];
}

}  // namespace penstock
