// How long all ranks of an MPI program take for something together.
#pragma once

#include <functional>

#include "common/result.h"

namespace penstock::exchange {

// Begins on all ranks at once; what the slowest one took, on all ranks. All
// must call it. Errors: work's, on the ranks that have one.
[[nodiscard]] Result<double> slowest_s(const std::function<Status()>& work);

}  // namespace penstock::exchange
