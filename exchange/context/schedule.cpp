#include "exchange/context/schedule.h"

#include <utility>

namespace penstock::exchange {

std::vector<Group> schedule(std::span<const LayerOptions> layers, int ranks,
                            const ExchangeCosts& costs,
                            size_t bucket_elements) {
  std::vector<Group> groups;
  Group bucket{.is_bucket = true};
  for (size_t i = 0; i < layers.size(); ++i) {
    const LayerOptions& layer = layers[i];
    const bool is_small =
        ranks > 1 && !layer.method && layer.elements < bucket_elements;
    if (!is_small) {
      const Method method =
          layer.method.value_or(cheapest({.elements = layer.elements,
                                          .ranks = ranks,
                                          .density = layer.density},
                                         costs));
      groups.push_back({.method = method,
                        .layers = {static_cast<int>(i)},
                        .elements = layer.elements});
      continue;
    }
    if (bucket.elements + layer.elements > bucket_elements) {
      groups.push_back(std::exchange(bucket, Group{.is_bucket = true}));
    }
    bucket.layers.push_back(static_cast<int>(i));
    bucket.elements += layer.elements;
  }
  if (!bucket.layers.empty()) groups.push_back(std::move(bucket));
  return groups;
}

}  // namespace penstock::exchange
