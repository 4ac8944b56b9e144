#include "predictor/corner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace penstock {
namespace {

// Limits further apart do not determine the exponent: already 2 gives 0.97 of a
// sharp corner's rate.
constexpr double kFarApart = 4;
constexpr int kGridSteps = 128;
constexpr int kRefinements = 60;

double squares(const std::vector<CornerPoint>& points, double exponent) {
  double sum = 0;
  for (const CornerPoint& it : points) {
    const double error = std::log(it.rate / corner(it.a, it.b, exponent));
    sum += error * error;
  }
  return sum;
}

Status check(const std::vector<CornerPoint>& points) {
  bool tells = false;
  for (size_t i = 0; i < points.size(); ++i) {
    const CornerPoint& it = points[i];
    for (double number : {it.a, it.b, it.rate})
      if (!std::isnormal(number) || number < 0)
        return invalid("point " + std::to_string(i + 1) +
                       ": every rate must be over 0 and finite");
    tells |= std::max(it.a, it.b) <= kFarApart * std::min(it.a, it.b);
  }
  if (tells) return Done{};
  return invalid(
      "no point determines the corner's exponent; measure points whose two "
      "limits are within a factor of 4");
}

}  // namespace

double corner(double a, double b, double exponent) {
  const double low = std::min(a, b);
  const double high = std::max(a, b);
  if (low == 0 || std::isinf(high) || std::isinf(exponent)) return low;
  return low * std::exp(-std::log1p(std::pow(low / high, exponent)) / exponent);
}

double beyond_corner(double a, double rate, double exponent) {
  if (rate > a) return std::numeric_limits<double>::infinity();
  if (std::isinf(a) || std::isinf(exponent)) return rate;
  return rate * std::exp(-std::log1p(-std::pow(rate / a, exponent)) / exponent);
}

Result<double> fit_corner(const std::vector<CornerPoint>& points) {
  if (Status status = check(points); !status) return std::move(status).error();
  // The sum may have several minima. A grid finds the lowest one; a golden
  // section search between its neighbours refines it. Both use the exponent's
  // logarithm.
  const double end = std::log(kMaxCornerExponent);
  const double step = end / kGridSteps;
  int best = 0;
  for (int i = 1; i <= kGridSteps; ++i)
    if (squares(points, std::exp(i * step)) <
        squares(points, std::exp(best * step)))
      best = i;
  double low = std::max(0.0, (best - 1) * step);
  double high = std::min(end, (best + 1) * step);
  constexpr double kGolden = 0.6180339887498949;
  for (int i = 0; i < kRefinements; ++i) {
    const double left = high - kGolden * (high - low);
    const double right = low + kGolden * (high - low);
    if (squares(points, std::exp(left)) <= squares(points, std::exp(right)))
      high = right;
    else
      low = left;
  }
  return std::clamp(std::exp((low + high) / 2), kMinCornerExponent,
                    kMaxCornerExponent);
}

}  // namespace penstock
