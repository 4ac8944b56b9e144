// The operators of a model, derived from its name. Pure.
#pragma once

#include <string_view>

#include "predictor/coefficients.h"

namespace penstock {

// Shares of the model, 0 to 1, by trait; "layers" in hundreds.
// predictor/data/traits.csv holds the name patterns and explains each trait.
// Only traits whose patterns match are there.
Facts traits_of(std::string_view model);

}  // namespace penstock
