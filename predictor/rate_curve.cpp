#include "predictor/rate_curve.h"

#include <algorithm>

namespace penstock {

RateCurve rate_curve(const Profile& profile) {
  RateCurve curve;
  for (size_t i = 0; i < profile.rate_at_cores.size(); ++i) {
    const double cores =
        profile.cores.empty() ? static_cast<double>(i + 1) : profile.cores[i];
    curve.push_back({cores, profile.rate_at_cores[i]});
  }
  return curve;
}

double rate_of_cores(const RateCurve& curve, double cores) {
  RatePoint below;
  double highest = 0;
  for (const RatePoint& here : curve) {
    if (cores < here.cores) {
      const double share = (cores - below.cores) / (here.cores - below.cores);
      const double rate = below.samples_per_s +
                          share * (here.samples_per_s - below.samples_per_s);
      return std::max(highest, rate);
    }
    highest = std::max(highest, here.samples_per_s);
    below = here;
  }
  return std::max(highest, below.samples_per_s * (cores / below.cores));
}

double cores_for_rate(const RateCurve& curve, double samples_per_s) {
  RatePoint below;
  for (const RatePoint& here : curve) {
    // A profile's ceiling, computed as 1/(1/rate), may exceed the curve's top
    // by a rounding error.
    if (here.samples_per_s * (1 + 1e-9) >= samples_per_s) {
      const double share = (samples_per_s - below.samples_per_s) /
                           (here.samples_per_s - below.samples_per_s);
      return below.cores + share * (here.cores - below.cores);
    }
    below = here;
  }
  return below.cores * (samples_per_s / below.samples_per_s);
}

}  // namespace penstock
