// An owner's sums of the entries that all ranks sent for its region. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "exchange/memory/arena.h"
#include "exchange/sparse/residual.h"
#include "exchange/sparse/sparse_message.h"

namespace penstock::exchange {

// Not thread-safe. Memory: a float and a bit for each element of the largest
// region, and a float for each entry that it may receive.
class RegionSum {
 public:
  RegionSum(size_t largest_region, size_t most_entries, Arena& arena);

  // Begins the sums of a region of `size` elements, from index `first` on.
  // REQUIRES: size <= largest_region; take() was called for the last region.
  void begin(size_t first, size_t size);

  // Adds the entries to the sums. REQUIRES: their indices are in the region; at
  // most most_entries entries since begin().
  void add(const SparseView& entries);

  // Moves the largest sums into `room`, as many as fit, in the order of
  // indices. The others are added to the residual; `others` is scratch space
  // for all of them. Returns the number of entries in `room`.
  size_t take(SparseRoom room, SparseRoom others, Residual& residual);

 private:
  std::span<const float> find_touched();

  size_t first_ = 0;
  std::span<float> sums_;
  std::span<uint64_t> touched_memory_;
  std::span<uint64_t> is_touched_;  // a bit for each element of the region
  std::span<float> touched_sums_;   // to find the largest sums
};

}  // namespace penstock::exchange
