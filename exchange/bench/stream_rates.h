// What MPI gets through between ranks, by large messages.
#pragma once

#include "common/result.h"

namespace penstock::exchange {

struct StreamRates {
  double alone_bytes_per_s = 0;     // from the first rank to the second
  double together_bytes_per_s = 0;  // of each rank, all sending to the next
};

// All ranks must call it. REQUIRES: two ranks or more. Errors: kIo
[[nodiscard]] Result<StreamRates> stream_rates();

}  // namespace penstock::exchange
