// Which layers are exchanged together, in what order, and how. Pure.
#pragma once

#include <span>
#include <vector>

#include "exchange/context/context.h"

namespace penstock::exchange {

// What is exchanged at once: a layer, or a bucket of small ones.
struct Group {
  Method method = Method::kDense;
  bool is_bucket = false;
  std::vector<int> layers;
  size_t elements = 0;
};

// In the order in which they are exchanged: that of the layers; a bucket comes
// where the next small layer has no room in it, or last. One rank has none.
std::vector<Group> schedule(std::span<const LayerOptions> layers, int ranks,
                            const ExchangeCosts& costs, size_t bucket_elements);

}  // namespace penstock::exchange
