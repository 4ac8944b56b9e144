// Coordinates of a panel in what-if's picture. Pure; internal to study_svg().
#pragma once

#include <algorithm>
#include <cmath>

#include "tools/penstock/what_if_study.h"

namespace penstock {

inline constexpr double kLeft = 64;  // of the plot, in its panel
inline constexpr double kTop = 48;
inline constexpr double kWidth = 322;
inline constexpr double kHeight = 220;
inline constexpr int kYTicks = 5;

// Maps amounts and rates to a panel's coordinates.
// REQUIRES: a table with two different amounts, as every table with rows has.
class Plane {
 public:
  explicit Plane(const StudyTable& table)
      : low_(table.curve.front().amount), high_(table.curve.back().amount) {
    for (const StudyRow& row : table.curve)
      top_ = std::max({top_, row.point.ceiling_samples_per_s,
                       row.point.samples_per_s.value});
    const double step = round_step(Axis::kCores, top_ * 1.05, kYTicks);
    top_ = std::ceil(top_ * 1.05 / step) * step;
  }

  double x(double amount) const {
    return kLeft + kWidth * (amount - low_) / (high_ - low_);
  }
  // Rates over the top are clipped.
  double y(double rate) const {
    return kTop + kHeight * (1 - std::min(1.0, rate / top_));
  }
  bool holds(double amount) const { return amount >= low_ && amount <= high_; }
  double low() const { return low_; }
  double high() const { return high_; }
  double top() const { return top_; }

 private:
  double low_, high_;
  double top_ = 0;
};

}  // namespace penstock
