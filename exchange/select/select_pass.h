// The pass over a layer's gradient that a sparse exchange begins with: what the
// gradient adds to is summed up, and what is large leaves it for the exchange.
// Pure; thread-safe. The widest vectors that the CPU has are used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::exchange {

// Room for entries that are picked out: as many indices as values.
struct SparseRoom {
  std::span<uint32_t> indices;
  std::span<float> values;
};

struct SelectPass {
  size_t taken = 0;       // entries written, no more than there is room for
  size_t candidates = 0;  // that reached the threshold, taken or not
  bool is_finite = true;  // false: an infinity or a NaN was among the sums
};

// a = residual + gradient, element by element. Where |a| >= threshold, or a is
// no number, and there is room, (first_index + i, a) is taken, in the order of
// i, and residual[i] is 0 then; everywhere else residual[i] is a. Nothing is
// lost: an entry without room stays.
// gradient: as long as the residual, or empty, which adds nothing.
// REQUIRES: threshold > 0; first_index + residual.size() <= 2^32.
SelectPass accumulate_and_select(std::span<const float> gradient,
                                 std::span<float> residual, float threshold,
                                 uint32_t first_index, SparseRoom room);

}  // namespace penstock::exchange
