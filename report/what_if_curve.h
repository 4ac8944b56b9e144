// A job's rate against the cores of its loader, as its report draws it. Plain
// values, of the job's ranks on the node together; pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/estimate.h"

namespace penstock {

inline constexpr size_t kMaxWhatIfPoints = 64;  // parse_report() takes no more
inline constexpr size_t kMaxWhatIfNotes = 4;    // as well

struct RateAtCores {
  double cores = 0;
  Estimate rate;  // samples/s

  friend bool operator==(const RateAtCores&, const RateAtCores&) = default;
};

struct WhatIfCurve {
  std::string unknown;              // why there is no curve; "": there is one
  std::string basis;                // what it rests on
  std::vector<RateAtCores> points;  // cores ascend; two or more
  double ceiling = 0;
  std::optional<double> here_cores;  // granted, averaged over the run
  std::optional<double> here_rate;   // measured
  // The most cores at which anything was measured: what is beyond is an
  // extrapolation. nullopt: all of it is a prediction.
  std::optional<double> measured_cores;
  // The fewest at which data is no longer the bottleneck.
  std::optional<double> enough_cores;
  std::string why_not_enough;      // where no number of cores is
  std::vector<std::string> notes;  // what the curve assumes

  friend bool operator==(const WhatIfCurve&, const WhatIfCurve&) = default;
};

}  // namespace penstock
