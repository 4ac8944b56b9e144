// A rank's ceiling by how densely the ranks exchange their gradients.
// docs/model.md, section "Exchange of gradients". Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/result.h"
#include "predictor/step_time.h"

namespace penstock {

struct GradientExchange {
  size_t parameters = 0;  // >= 1
  double batch = 0;       // samples of a rank in a step, > 0
  int ranks = 2;          // >= 2
  int ranks_per_link = 1;
  exchange::ExchangeCosts costs;
};

// The lowest density that anybody is asked about.
inline constexpr double kLeastDensity = 1e-5;

// A step in which a rank computes for compute_s. REQUIRES: density over 0, at
// most 1.
StepTimes step_with(const GradientExchange& exchange, double compute_s,
                    double density);

// For how long a rank computes in a step, if its ceiling was measured in a job
// of measured_ranks: in one of as many ranks as now exchange, their dense
// exchange is in it and taken off; else it is taken as computing alone.
// Errors: kInvalidArgument  by these costs the exchange alone takes longer
[[nodiscard]] Result<double> compute_s(const GradientExchange& exchange,
                                       double ceiling_samples_per_s,
                                       int64_t measured_ranks);

}  // namespace penstock
