// Fits the constants of the cost model to measured exchanges. Pure.
#pragma once

#include <span>

#include "exchange/plan/cost_model.h"

namespace penstock::exchange {

struct MeasuredExchange {
  Method method = Method::kDense;
  ExchangeSize size;
  double seconds = 0;  // > 0
};

// Returns the non-negative costs with the least sum of squares of (modelled /
// measured - 1), each weighted by its layer's elements. A cost that no
// measurement depends on is 0.
//
// The weights favour large layers, whose methods decide the time of a step.
// Small layers fit into caches, so their elements cost less (decision 88).
ExchangeCosts fit_costs(std::span<const MeasuredExchange> measured);

}  // namespace penstock::exchange
