#include "report/what_if_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/text.h"

namespace penstock {
namespace {

bool is_positive(const std::optional<Estimate>& estimate) {
  return estimate && is_known(*estimate) && estimate->low > 0;
}

// The best that is known: measured, else corrected, else predicted.
std::optional<Estimate> ceiling_of(const Compared& ceiling) {
  for (const auto& known :
       {ceiling.measured, ceiling.corrected, ceiling.predicted}) {
    if (is_positive(known)) return known;
  }
  return std::nullopt;
}

// One of the three lines that the curve is made of.
struct Line {
  double demand_cores = 0;
  double ceiling = 0;
  double cap = 0;  // what the bandwidth granted allows

  double top() const { return std::min(ceiling, cap); }
  double at(double cores) const {
    return std::min(top(), cores * ceiling / demand_cores);
  }
  double knee() const { return top() * demand_cores / ceiling; }
};

double bandwidth_cap(const BandwidthFigures& bandwidth, double ceiling) {
  if (!bandwidth.granted_bytes_per_s ||
      !is_positive(bandwidth.demand_bytes_per_s)) {
    return std::numeric_limits<double>::infinity();
  }
  return ceiling * *bandwidth.granted_bytes_per_s /
         bandwidth.demand_bytes_per_s->value;
}

std::string basis_of(const Line& line) {
  std::string out = fmt::format(
      "rate = min(ceiling, cores ÷ cost of a sample); the cost is the {} "
      "loader cores that the ceiling needs ÷ the ceiling, both of this report",
      figure_text(line.demand_cores));
  if (line.cap < line.ceiling) {
    out += fmt::format("; the bandwidth granted allows {} samples/s",
                       figure_text(line.cap));
  }
  return out;
}

}  // namespace

std::optional<WhatIfCurve> what_if_of(const JobReport& report) {
  const std::optional<Estimate> ceiling = ceiling_of(report.ceiling);
  const CoreFigures& cores = report.cores;
  const auto& rate = report.throughput.measured;
  if (!ceiling || !is_positive(cores.demand) || !is_positive(rate) ||
      !cores.used_home) {
    return std::nullopt;
  }
  const double cap = bandwidth_cap(report.bandwidth, ceiling->value);
  const Estimate& demand = *cores.demand;
  const Line middle{demand.value, ceiling->value, cap};
  const Line low{demand.high, ceiling->low, cap};
  const Line high{demand.low, ceiling->high, cap};
  WhatIfCurve out;
  out.here_cores = *cores.used_home + cores.used_away.value_or(0);
  out.here_rate = rate->value;
  out.ceiling = ceiling->value;
  out.basis = basis_of(middle);
  const double end = 1.25 * std::max({out.here_cores, demand.high});
  std::vector<double> at = {0, low.knee(), middle.knee(), high.knee(), end};
  std::sort(at.begin(), at.end());
  at.erase(std::unique(at.begin(), at.end()), at.end());
  for (double point_cores : at) {
    if (point_cores > end) break;
    out.points.push_back(
        {point_cores,
         {middle.at(point_cores), low.at(point_cores), high.at(point_cores)}});
  }
  return out;
}

}  // namespace penstock
