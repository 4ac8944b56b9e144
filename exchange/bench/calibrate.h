// The cost model fitted to the machine and the link that ranks have.
#pragma once

#include "common/result.h"
#include "exchange/bench/ranks_options.h"

namespace penstock::exchange {

// Exchanges layers of three sizes in each way and with each density; rank 0
// prints the fitted costs as an object of JSON, with what each exchange took,
// what it takes by the model, and what rate streams have between ranks.
// Errors: LayerExchange's; kInvalidArgument  a single rank
[[nodiscard]] Status calibrate(const RanksOptions& options);

}  // namespace penstock::exchange
