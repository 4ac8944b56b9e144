#include "predictor/exchange_ceiling.h"

#include <cmath>

#include "common/units.h"

namespace penstock {
namespace {

constexpr int kBisections = 100;

std::string ms_text(double seconds) {
  return format_number(std::round(seconds * 1e5) / 100) + " ms";
}

}  // namespace

StepTimes step_with(const GradientExchange& exchange, double compute_s,
                    double density) {
  return step_times(step_of_buckets(compute_s, exchange.parameters),
                    {.ranks = exchange.ranks,
                     .density = density,
                     .costs = exchange.costs,
                     .ranks_per_link = exchange.ranks_per_link});
}

Result<double> compute_s(const GradientExchange& exchange,
                         double ceiling_samples_per_s, int64_t measured_ranks) {
  const double step_s = exchange.batch / ceiling_samples_per_s;
  if (measured_ranks != exchange.ranks) return step_s;
  const double exchange_s = step_with(exchange, 0, 1).step_s;
  if (exchange_s > step_s)
    return invalid("a step took " + ms_text(step_s) +
                   ", and by these costs the dense exchange of its gradients "
                   "alone takes " +
                   ms_text(exchange_s) +
                   ": give a faster link, the batch of a rank, or its right "
                   "number of parameters");
  double low = 0;
  double high = step_s;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = low + (high - low) / 2;
    (step_with(exchange, middle, 1).step_s <= step_s ? low : high) = middle;
  }
  return low;
}

}  // namespace penstock
