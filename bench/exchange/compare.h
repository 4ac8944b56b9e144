// Compares the methods of exchanging a layer.
#pragma once

#include "bench/exchange/ranks_options.h"
#include "common/result.h"

namespace penstock::exchange {

// Collective. For each density and round, rank 0 prints a line of JSON: the
// times of plain MPI_Allreduce of the gradient, of kAllgather, of kTwoPhase and
// of the method that the costs choose.
// Errors: LayerExchange's; kIo  MPI_Allreduce
[[nodiscard]] Status compare_methods(const RanksOptions& options);

}  // namespace penstock::exchange
