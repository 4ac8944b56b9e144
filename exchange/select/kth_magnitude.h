// The exact threshold of a top-k selection. Pure; thread-safe; allocates
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::exchange {

// The k-th largest magnitude: at least k values reach it, fewer than k exceed
// it. A NaN counts as larger than an infinity. Counts the numbers' bits from
// the top, in three passes.
// REQUIRES: 1 <= k <= values.size()
float kth_magnitude(std::span<const float> values, size_t k);
// The same for bfloat16 numbers, given as their bits; two passes.
float kth_magnitude_bfloat16(std::span<const uint16_t> values, size_t k);

}  // namespace penstock::exchange
