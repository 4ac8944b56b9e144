// MPI's bandwidth between ranks, with large messages.
#pragma once

#include "common/result.h"

namespace penstock::exchange {

struct StreamRates {
  double alone_bytes_per_s = 0;     // from rank 0 to rank 1
  double together_bytes_per_s = 0;  // per rank, each sending to the next
};

// Collective. REQUIRES: two ranks or more. Errors: kIo
[[nodiscard]] Result<StreamRates> stream_rates();

}  // namespace penstock::exchange
