// Compiled-in tables of predictor/data/. Internal to predictor/.
#pragma once

#include <string_view>

namespace penstock::data {

extern const std::string_view kModels;
extern const std::string_view kGpus;
extern const std::string_view kTraits;
extern const std::string_view kCoefficients;
extern const std::string_view kParameters;

}  // namespace penstock::data
