#include "exchange/select/largest.h"

#include <algorithm>
#include <bit>

#include "exchange/select/kth_magnitude.h"

namespace penstock::exchange {
namespace {

// Bits without the sign, which as integers sort numbers by magnitude: NaNs
// above infinities.
uint32_t magnitude(float value) {
  return std::bit_cast<uint32_t>(value) & 0x7fffffffu;
}

}  // namespace

Largest::Largest(std::span<const float> values, size_t wanted)
    : left_(wanted), ties_(wanted) {
  if (values.size() <= wanted || wanted == 0) return;
  least_ = magnitude(kth_magnitude(values, wanted));
  const auto above =
      std::count_if(values.begin(), values.end(),
                    [&](float value) { return magnitude(value) > least_; });
  ties_ -= size_t(above);
}

bool Largest::takes(float value) {
  if (left_ == 0 || magnitude(value) < least_) return false;
  if (magnitude(value) == least_) {
    if (ties_ == 0) return false;
    --ties_;
  }
  --left_;
  return true;
}

}  // namespace penstock::exchange
