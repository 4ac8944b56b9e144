#include "exchange/sparse/region_sum.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "exchange/select/largest.h"

namespace penstock::exchange {
namespace {

constexpr size_t kBits = 64;

size_t words_of(size_t elements) { return (elements + kBits - 1) / kBits; }

// Calls visit(element) for each bit that is set, in order.
template <class Visit>
void for_each_bit(std::span<const uint64_t> words, const Visit& visit) {
  for (size_t w = 0; w < words.size(); ++w) {
    for (uint64_t left = words[w]; left != 0; left &= left - 1) {
      visit(w * kBits + size_t(std::countr_zero(left)));
    }
  }
}

}  // namespace

RegionSum::RegionSum(size_t largest_region, size_t most_entries, Arena& arena)
    : sums_(arena.take<float>(largest_region)),
      touched_memory_(arena.take<uint64_t>(words_of(largest_region))),
      touched_sums_(arena.take<float>(most_entries)) {}

void RegionSum::begin(size_t first, size_t size) {
  first_ = first;
  is_touched_ = touched_memory_.first(words_of(size));
}

void RegionSum::add(const SparseView& entries) {
  for (size_t i = 0; i < entries.indices.size(); ++i) {
    const size_t element = entries.indices[i] - first_;
    sums_[element] += entries.values[i];
    is_touched_[element / kBits] |= uint64_t{1} << element % kBits;
  }
}

std::span<const float> RegionSum::find_touched() {
  size_t touched = 0;
  for_each_bit(is_touched_,
               [&](size_t i) { touched_sums_[touched++] = sums_[i]; });
  return touched_sums_.first(touched);
}

size_t RegionSum::take(SparseRoom room, SparseRoom others, Residual& residual) {
  Largest largest(find_touched(), room.values.size());
  size_t taken = 0, left = 0;
  for_each_bit(is_touched_, [&](size_t i) {
    const float sum = std::exchange(sums_[i], 0.0f);
    if (sum == 0) return;  // the entries cancelled each other
    if (largest.takes(sum)) {
      room.indices[taken] = static_cast<uint32_t>(first_ + i);
      room.values[taken++] = sum;
    } else {
      others.indices[left] = static_cast<uint32_t>(first_ + i);
      others.values[left++] = sum;
    }
  });
  residual.add({others.indices.first(left), others.values.first(left)});
  std::fill(is_touched_.begin(), is_touched_.end(), 0);
  return taken;
}

}  // namespace penstock::exchange
