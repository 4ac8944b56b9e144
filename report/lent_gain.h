// What lent CPUs brought a job. Pure.
#pragma once

#include <optional>
#include <string>

#include "report/report.h"

namespace penstock {

// Throughput gained by CPU time on lent CPUs, as a fraction; nullopt: unknown.
//
// Without lent CPUs, the job's threads have its own CPUs. A sample costs the
// same CPU time there, so whenever the job used more CPUs than its own, it
// would have been slower by that ratio. The ratio is taken in each interval of
// the timeline, or over the run if there is none. Too high where CPUs slow each
// other down, as two threads of a core do: a sample costs less CPU time beside
// an idle one.
std::optional<double> lent_gain(const JobReport& report);

// "By CPU time, lent CPUs raised the throughput by about 36%"; "" if unknown,
// or under half a per cent.
std::string lent_gain_text(const JobReport& report);

}  // namespace penstock
