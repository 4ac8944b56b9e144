// The ways to exchange a layer, by turns.
#pragma once

#include "common/result.h"
#include "exchange/bench/ranks_options.h"

namespace penstock::exchange {

// For each density and round rank 0 prints what each way took, as a line of
// JSON: plain MPI_Allreduce of the gradient, everybody's elements to all, the
// two phases, and the way that the costs choose.
// Errors: LayerExchange's; kIo  MPI_Allreduce
[[nodiscard]] Status compare_methods(const RanksOptions& options);

}  // namespace penstock::exchange
