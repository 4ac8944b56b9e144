// First pass of a sparse exchange over a layer: adds the gradient to the
// residual and moves large elements out of it. Pure; thread-safe. Uses the
// widest vectors that the CPU has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::exchange {

// Output buffer for selected entries: as many indices as values.
struct SparseRoom {
  std::span<uint32_t> indices;
  std::span<float> values;
};

struct SelectPass {
  size_t taken = 0;       // entries written, at most the room's size
  size_t candidates = 0;  // entries at or above the threshold, taken or not
  bool is_finite = true;  // false: a sum was infinite or NaN
};

// For each element, in order, a = residual[i] + gradient[i]. If |a| >=
// threshold or a is NaN, and room is left, writes the entry (first_index + i,
// a) and sets residual[i] to 0. Otherwise sets residual[i] to a.
//
// Nothing is lost: an entry without room stays in the residual.
// gradient: as long as the residual, or empty, which adds nothing.
// REQUIRES: threshold > 0; first_index + residual.size() <= 2^32.
SelectPass accumulate_and_select(std::span<const float> gradient,
                                 std::span<float> residual, float threshold,
                                 uint32_t first_index, SparseRoom room);

}  // namespace penstock::exchange
