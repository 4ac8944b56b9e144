// Advice on CPUs and loader threads, from the job's what-if curve. Pure.
#pragma once

#include <optional>

#include "report/advice.h"

namespace penstock {

// CPUs of a task, and workers or threads of its loader, that would make a
// starved job faster, together; or fewer CPUs for a job that does not wait. Not
// more CPUs than the node has. nullopt: nothing would help, or too little is
// known.
//
// The gain is the curve's rate over the measured one. Its lower end is 0 where
// the loader's threads sleep for a reason that is not known.
std::optional<Recommendation> advise_cores(const JobReport& report);

}  // namespace penstock
