// A job's rate against the cores of its loader, as drawn in its report. Plain
// values, totals of the job's ranks on the node; pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/estimate.h"

namespace penstock {

inline constexpr size_t kMaxWhatIfPoints = 64;  // limit of parse_report()
inline constexpr size_t kMaxWhatIfNotes = 4;    // limit of parse_report()

struct RateAtCores {
  double cores = 0;
  Estimate rate;  // samples/s

  friend bool operator==(const RateAtCores&, const RateAtCores&) = default;
};

struct WhatIfCurve {
  std::string unknown;              // why there is no curve; "": there is one
  std::string basis;                // source of the curve
  std::vector<RateAtCores> points;  // cores ascend; two or more
  double ceiling = 0;
  std::optional<double> here_cores;  // granted, averaged over the run
  std::optional<double> here_rate;   // measured
  // The highest number of cores with a measurement; points beyond are
  // extrapolated. nullopt: the whole curve is a prediction.
  std::optional<double> measured_cores;
  // The lowest number of cores at which data is no longer the bottleneck.
  std::optional<double> enough_cores;
  std::string why_not_enough;      // reason if no number of cores is enough
  std::vector<std::string> notes;  // what the curve assumes

  friend bool operator==(const WhatIfCurve&, const WhatIfCurve&) = default;
};

}  // namespace penstock
