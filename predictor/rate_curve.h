// A profile's measured curve: the loader's rate over its cores. Pure;
// thread-safe.
#pragma once

#include <vector>

#include "predictor/profile.h"

namespace penstock {

struct RatePoint {
  double cores = 0;          // > 0
  double samples_per_s = 0;  // > 0
};
using RateCurve = std::vector<RatePoint>;  // cores ascend

// The points of rate_at_cores; none where the profile holds no curve.
RateCurve rate_curve(const Profile& profile);

// The rate that so many cores allow: straight lines from (0,0) through the
// points. More cores never make a loader slower, as it may leave them idle:
// where the curve falls, its highest rate so far holds. Beyond the end the last
// point's cost per sample goes on.
// REQUIRES: a curve that is not empty, cores >= 0.
double rate_of_cores(const RateCurve& curve, double cores);

// The least cores that allow a rate: where the lines first reach it.
// REQUIRES: a curve that is not empty, rate >= 0.
double cores_for_rate(const RateCurve& curve, double samples_per_s);

}  // namespace penstock
