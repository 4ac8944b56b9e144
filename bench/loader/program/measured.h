// The protocol between `penstock bench loader` and the programs it measures.
#pragma once

#include <cstdint>
#include <functional>

#include "common/result.h"

namespace penstock {

// Durations of a loop: warm-up, then measurement.
struct MeasuredTime {
  double warm_s = 0;
  double measured_s = 0;
};

// Calls step until the time is over. Writes "begin" to standard output after
// the warm-up and "end N" after the measurement; N is the sum of step's results
// in it. The reader takes our CPU time at both lines. Returns when standard
// input ends.
// Errors: step's
[[nodiscard]] Status run_measured(
    const MeasuredTime& time, const std::function<Result<uint64_t>()>& step);

}  // namespace penstock
