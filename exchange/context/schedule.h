// Schedule of an exchange: the groups of layers, their order and methods. Pure.
#pragma once

#include <span>
#include <vector>

#include "exchange/context/options.h"

namespace penstock::exchange {

// Layers that are exchanged together: one layer, or a bucket of small ones.
struct Group {
  Method method = Method::kDense;
  bool is_bucket = false;
  std::vector<int> layers;
  size_t elements = 0;
};

// The groups in the order of exchange, which is that of the layers. A bucket
// comes where the next small layer does not fit into it, or last. Buckets have
// no layers with a method of their own; one rank has no buckets.
std::vector<Group> schedule(std::span<const LayerOptions> layers, int ranks,
                            const ExchangeCosts& costs, size_t bucket_elements);

}  // namespace penstock::exchange
