// Fits the cost model to the machine and to the link between ranks.
#pragma once

#include "bench/exchange/ranks_options.h"
#include "common/result.h"

namespace penstock::exchange {

// Collective. Exchanges layers of three sizes with each method and density.
// Rank 0 prints a JSON object: the fitted costs, each exchange's measured and
// modelled time, and the rates of streams between ranks.
// Errors: LayerExchange's and stream_rates()'s
//         kInvalidArgument  a single rank
[[nodiscard]] Status calibrate(const RanksOptions& options);

}  // namespace penstock::exchange
