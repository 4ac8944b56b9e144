// Division of a layer into regions, one owned by each rank. Pure.
#pragma once

#include <algorithm>
#include <cstddef>

namespace penstock::exchange {

// Equal regions of whole cache lines, one for each rank; the last ones may be
// shorter, or empty.
class Regions {
 public:
  // REQUIRES: ranks >= 1
  Regions(size_t elements, int ranks)
      : elements_(elements),
        part_(round_up((elements + size_t(ranks) - 1) / size_t(ranks))) {}

  size_t begin(int rank) const {
    return std::min(elements_, part_ * size_t(rank));
  }
  size_t size(int rank) const { return begin(rank + 1) - begin(rank); }
  size_t largest() const { return std::min(elements_, part_); }

 private:
  static constexpr size_t kLine = 16;  // floats
  static size_t round_up(size_t count) {
    return (count + kLine - 1) / kLine * kLine;
  }

  size_t elements_;
  size_t part_;
};

}  // namespace penstock::exchange
