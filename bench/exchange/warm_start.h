// A layer's state after many steps, for benchmarks. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "bench/exchange/gradient_stream.h"
#include "exchange/select/threshold.h"

namespace penstock::exchange {

struct WarmStart {
  float threshold = 0;
  uint32_t steps = 0;  // steps of the stream that were used
};

// Selects from a part of the layer for 2 / density steps, at most 1,000, so
// that most elements are selected once or twice. Fills `residual` with copies
// of the part's residual.
//
// Otherwise residuals would grow during a benchmark, and every other step would
// need an exact threshold.
// REQUIRES: 0 < density <= 1
WarmStart warm_start(const GradientStream& stream, double density,
                     std::span<float> residual);

}  // namespace penstock::exchange
