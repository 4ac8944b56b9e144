#include "loader/picture/filter.h"

#include <algorithm>
#include <cmath>

namespace penstock {

void Filter::place(double begin, double length, int out_count, bool reversed) {
  const double step = length / out_count;
  const double support = std::max(step, 1.0);
  touched_begin_ = static_cast<int>(begin);
  // Tolerance: a rounding error (0.1 + 0.2) must not add a pixel.
  touched_end_ = std::max(static_cast<int>(std::ceil(begin + length - 1e-6)),
                          touched_begin_ + 1);
  // An open interval of length 2 * support has at most as many pixel centres.
  taps_ = std::min(static_cast<int>(std::ceil(2 * support - 1e-9)),
                   touched_end_ - touched_begin_);
  const auto outputs = static_cast<size_t>(out_count);
  firsts_.resize(outputs);
  weights_.resize(outputs * static_cast<size_t>(taps_));
  for (int i = 0; i < out_count; ++i) {
    const int slot = reversed ? out_count - 1 - i : i;
    place_output(begin + (i + 0.5) * step, support, static_cast<size_t>(slot));
  }
}

// Rounds the running sum instead of each weight, so that the sum is exact for
// any number of taps.
void Filter::place_output(double centre, double support, size_t slot) {
  const int first = std::clamp(static_cast<int>(centre - (support - 0.5)),
                               touched_begin_, touched_end_ - taps_);
  firsts_[slot] = first;
  const double per_pixel = 1 / support;
  const auto weight = [&](int tap) {
    return std::max(0.0, 1 - std::abs(first + tap + 0.5 - centre) * per_pixel);
  };
  double total = 0;
  for (int tap = 0; tap < taps_; ++tap) total += weight(tap);
  const double scale = kFilterOne / total;
  int16_t* to = weights_.data() + slot * static_cast<size_t>(taps_);
  double sum = 0.5;  // truncation then rounds
  int rounded = 0;
  for (int tap = 0; tap < taps_; ++tap) {
    sum += weight(tap) * scale;
    const int next = static_cast<int>(sum);
    to[tap] = static_cast<int16_t>(next - rounded);
    rounded = next;
  }
}

}  // namespace penstock
