// The latest measurements of one latency, and their percentiles. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

class LatencyRecord {
 public:
  void add_ms(double value_ms);

  uint64_t count() const { return count_; }
  // The nearest-rank percentile of the last kKept values; 0 if there are none.
  //   share  0..1, for example 0.99
  double percentile_ms(double share) const;
  double max_ms() const { return max_ms_; }
  double sum_ms() const { return sum_ms_; }

  static constexpr size_t kKept = 4096;

 private:
  std::vector<double> values_;
  size_t next_ = 0;
  uint64_t count_ = 0;
  double max_ms_ = 0;
  double sum_ms_ = 0;
};

}  // namespace penstock
