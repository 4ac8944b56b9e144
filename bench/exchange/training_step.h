// Training steps that exchange gradients while others are computed. The
// accelerator is emulated: computing is sleeping.
#pragma once

#include "bench/exchange/ranks_options.h"
#include "common/result.h"

namespace penstock::exchange {

// Collective. For each density and round, rank 0 prints a step's time as a line
// of JSON. A third of the computing is the forward pass. Each layer takes its
// share of the rest and is submitted; then the step waits for all layers.
//
// Contexts have a thread and choose methods by the costs; at density 1, layers
// are summed densely.
// Errors: kUnavailable  MPI was not initialised with MPI_THREAD_MULTIPLE
//         and Context's
[[nodiscard]] Status time_steps(const RanksOptions& options);

}  // namespace penstock::exchange
