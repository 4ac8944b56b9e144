// What `penstock bench loader` reads while a program loads.
#pragma once

#include <cstdint>
#include <functional>

#include "common/result.h"

namespace penstock {

// How long a loop runs: first so that all is warm, then measured.
struct MeasuredTime {
  double warm_s = 0;
  double measured_s = 0;
};

// Calls step until the time is over. Standard output gets "begin" after the
// first part and "end N" after the second, N the sum of what step returned in
// it; who reads that looks at our CPU time then. Returns when standard input
// ends.
// Errors: step's
[[nodiscard]] Status run_measured(
    const MeasuredTime& time, const std::function<Result<uint64_t>()>& step);

}  // namespace penstock
