// Where the owner of a region adds up what all ranks sent for it. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "exchange/memory/arena.h"
#include "exchange/sparse/residual.h"
#include "exchange/sparse/sparse_message.h"

namespace penstock::exchange {

// For one thread. Memory for the largest region: 33/32 of its floats, and a
// float for each entry that may come in.
class RegionSum {
 public:
  RegionSum(size_t largest_region, size_t most_entries, Arena& arena);

  // A region's first element has this index.
  // REQUIRES: size <= largest_region; what was added is taken out already.
  void begin(size_t first, size_t size);

  // REQUIRES: the indices are of the region; no more entries in all than
  // most_entries.
  void add(const SparseView& entries);

  // Takes the largest sums out, as many as there is room for, in the order of
  // their indices; the others go to the layer's residual, by way of a room for
  // all of them. Returns how many were taken.
  size_t take(SparseRoom room, SparseRoom others, Residual& residual);

 private:
  std::span<const float> find_touched();

  size_t first_ = 0;
  std::span<float> sums_;
  std::span<uint64_t> touched_memory_;
  std::span<uint64_t> is_touched_;  // a bit for each element of the region
  std::span<float> touched_sums_;   // to find the largest
};

}  // namespace penstock::exchange
