// A layer's state as it is after many steps, for benchmarks. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "exchange/bench/gradient_stream.h"
#include "exchange/select/threshold.h"

namespace penstock::exchange {

struct WarmStart {
  float threshold = 0;
  uint32_t steps = 0;  // of the stream that it took
};

// Selects from a part of the layer for so many steps that most elements have
// been picked out once or twice, as long as that takes no more than 1,000, and
// fills the residual with what is left, over and over. Without that residuals
// would grow during a benchmark, and thresholds be found anew in every other
// step.
// REQUIRES: 0 < density <= 1
WarmStart warm_start(const GradientStream& stream, double density,
                     std::span<float> residual);

}  // namespace penstock::exchange
