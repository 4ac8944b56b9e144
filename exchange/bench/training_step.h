// Steps of a training whose gradients are exchanged while others are computed.
// The accelerator is emulated: a rank that computes sleeps.
#pragma once

#include "common/result.h"
#include "exchange/bench/ranks_options.h"

namespace penstock::exchange {

// For each density and round rank 0 prints what a step took, as a line of JSON:
// a third of the computing is the forward pass, each layer takes its share of
// the rest and is submitted, and all are waited for. Contexts have a thread,
// and choose by the costs; at density 1 layers are summed densely.
// Errors: kUnavailable  MPI was not initialised with MPI_THREAD_MULTIPLE
//         and Context's
[[nodiscard]] Status time_steps(const RanksOptions& options);

}  // namespace penstock::exchange
