#include "exchange/select/threshold.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace penstock::exchange {
namespace {

// Less would be 0 where denormal numbers are flushed (torch.set_flush_denormal)
// and pick out zeros.
constexpr float kLeast = std::numeric_limits<float>::min();
constexpr float kMost = std::numeric_limits<float>::max();
// How much of a deviation is corrected at once. The number of entries over a
// threshold falls with a high power of it, and what is below it goes on adding
// up: a threshold raised by more finds next to nothing for some steps, and then
// far too much (0.3: p95 of 2.0 x what was wanted at 1%, where this has 1.06).
constexpr double kCorrection = 0.15;
constexpr double kMostChange = 2;
// So far from what was wanted that correcting would take several steps.
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
