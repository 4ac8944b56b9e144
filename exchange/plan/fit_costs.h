// The constants of the cost model, from what exchanges took. Pure.
#pragma once

#include <span>

#include "exchange/plan/cost_model.h"

namespace penstock::exchange {

struct MeasuredExchange {
  Method method = Method::kDense;
  ExchangeSize size;
  double seconds = 0;  // > 0
};

// Costs of which none is negative, with the least sum of squares of
// modelled / measured - 1, each weighed by its elements: caches hold small
// layers, whose elements say little of what a large one's cost, and it is large
// ones whose method decides how long a step takes. What nothing measured
// depends on costs nothing.
ExchangeCosts fit_costs(std::span<const MeasuredExchange> measured);

}  // namespace penstock::exchange
