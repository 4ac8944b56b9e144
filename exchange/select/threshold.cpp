#include "exchange/select/threshold.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace penstock::exchange {
namespace {

// The smallest normal float. A denormal threshold is 0 where denormals are
// flushed (torch.set_flush_denormal), and would select zeros.
constexpr float kLeast = std::numeric_limits<float>::min();
constexpr float kMost = std::numeric_limits<float>::max();
// Exponent of the correction (decision 77). The number of candidates falls with
// a high power of the threshold, and smaller elements keep adding up.
//
// A larger exponent swings: a raised threshold selects almost nothing for some
// steps, then far too much. At 1%, 0.3 had a 95th percentile of 2.0 x the
// wanted entries; 0.15 has 1.06.
constexpr double kCorrection = 0.15;
constexpr double kMostChange = 2;
// Beyond this ratio a correction would take several steps: find it exactly.
constexpr double kFar = 2;

}  // namespace

Threshold::Threshold(size_t wanted, uint32_t exact_steps)
    : wanted_(std::max<size_t>(wanted, 1)),
      exact_steps_(std::max<uint32_t>(exact_steps, 1)) {}

void Threshold::set_exact(float magnitude) {
  value_ = magnitude > kLeast ? std::min(magnitude, kMost) : kLeast;
  if (std::isnan(magnitude)) value_ = kMost;
  steps_left_ = exact_steps_;
}

void Threshold::correct(size_t candidates) {
  const double ratio = double(candidates) / double(wanted_);
  steps_left_ -= std::min<uint32_t>(steps_left_, 1);
  if (ratio > kFar || ratio < 1 / kFar) steps_left_ = 0;
  const double change =
      std::clamp(std::pow(ratio, kCorrection), 1 / kMostChange, kMostChange);
  value_ = float(std::clamp(value_ * change, double(kLeast), double(kMost)));
}

}  // namespace penstock::exchange
