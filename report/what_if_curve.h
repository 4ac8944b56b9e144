// A job's rate against loader cores, as the report draws it. Plain values; the
// simple curve that a report itself supports. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/report.h"

namespace penstock {

// rate: samples/s of the job's ranks on the node together.
struct WhatIfPoint {
  double cores = 0;  // of the loader
  Estimate rate;
};

struct WhatIfCurve {
  std::vector<WhatIfPoint> points;  // ascending cores; two or more
  double here_cores = 0;            // what the loader used
  double here_rate = 0;             // what the job had with it
  double ceiling = 0;               // of the rate
  std::string basis;                // what the curve rests on: a sentence
};

// From the cores that the ceiling needs: rate = min(ceiling, cores ÷ cost of a
// sample), at most what the bandwidth granted allows. nullopt where ceiling,
// demand, cores used or throughput is not known or not positive.
std::optional<WhatIfCurve> what_if_of(const JobReport& report);

}  // namespace penstock
