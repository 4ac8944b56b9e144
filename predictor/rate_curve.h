// A profile's measured curve: the loader's rate as a function of its cores.
// Pure; thread-safe.
#pragma once

#include <vector>

#include "predictor/profile.h"

namespace penstock {

struct RatePoint {
  double cores = 0;          // > 0
  double samples_per_s = 0;  // > 0
};
using RateCurve = std::vector<RatePoint>;  // cores ascend

// The points of rate_at_cores; empty if the profile has no curve.
RateCurve rate_curve(const Profile& profile);

// The rate with this number of cores: straight lines from (0,0) through the
// points. A loader may leave cores idle, so more cores never make it slower:
// where the curve falls, its highest rate so far is used. Beyond the end the
// last point's cost per sample is used.
// REQUIRES: the curve is not empty, cores >= 0.
double rate_of_cores(const RateCurve& curve, double cores);

// The least number of cores for a rate: where the lines first reach it.
// REQUIRES: the curve is not empty, rate >= 0.
double cores_for_rate(const RateCurve& curve, double samples_per_s);

}  // namespace penstock
