// The operators of a model, derived from its name. Pure.
#pragma once

#include <string_view>

namespace penstock {

// Shares of the model, 0 to 1, except layers. predictor/data/traits.csv holds
// the name patterns and explains each trait. A name that matches no pattern has
// only zeros.
struct Traits {
  double depthwise = 0;
  double grouped = 0;
  double attention = 0;
  double mlp = 0;
  double recurrent = 0;
  double embedding = 0;
  double squeeze = 0;
  double gate = 0;
  double slow_norm = 0;
  double standardised = 0;
  double antialias = 0;
  double windows = 0;
  double split = 0;
  double branches = 0;
  double concatenated = 0;
  double no_norm = 0;
  double plain_3x3 = 0;
  double large_kernel = 0;
  double wide_groups = 0;
  double irregular = 0;
  double layers = 0;  // in hundreds
};

Traits traits_of(std::string_view model);

}  // namespace penstock
