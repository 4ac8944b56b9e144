// Timing of work that all ranks of an MPI program do together.
#pragma once

#include <functional>

#include "common/result.h"

namespace penstock::exchange {

// Collective. Runs the work on all ranks after a barrier. Returns the slowest
// rank's time, in seconds, on all ranks.
// Errors: work's, on ranks where it failed; the others then wait for
// MPI_Abort()
[[nodiscard]] Result<double> slowest_s(const std::function<Status()>& work);

}  // namespace penstock::exchange
