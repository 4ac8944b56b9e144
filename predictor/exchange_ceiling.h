// A rank's ceiling as a function of the density of the gradient exchange.
// docs/model.md, section "Exchange of gradients". Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/result.h"
#include "predictor/step_time.h"

namespace penstock {

struct GradientExchange {
  size_t parameters = 0;  // >= 1
  double batch = 0;       // samples per rank and step, > 0
  int ranks = 2;          // >= 2
  int ranks_per_link = 1;
  exchange::ExchangeCosts costs;
};

// Lowest density to consider.
inline constexpr double kLeastDensity = 1e-5;

// Times of a step in which a rank computes for compute_s. REQUIRES: density
// over 0, at most 1.
StepTimes step_with(const GradientExchange& exchange, double compute_s,
                    double density);

// Compute time of a rank's step, from a ceiling measured in a job of
// measured_ranks ranks. If measured_ranks is exchange.ranks, the measurement
// includes a dense exchange, which is subtracted; otherwise it counts as pure
// computing.
// Errors: kInvalidArgument  by these costs the exchange alone takes longer than
//                           the measured step
[[nodiscard]] Result<double> compute_s(const GradientExchange& exchange,
                                       double ceiling_samples_per_s,
                                       int64_t measured_ranks);

}  // namespace penstock
