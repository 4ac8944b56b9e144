// The parameter file: what a calibration learned, as text. Pure.
#pragma once

#include <string>
#include <string_view>

#include "common/result.h"
#include "predictor/arrival.h"

namespace penstock {

// CSV with the columns part, name, value: "roofline,memory.half,-0.612",
// "interval,one_node/low,-0.31". Values have four decimals, so that machines
// that round differently write the same file.
std::string write_parameters(const ArrivalParameters& parameters);

// Errors: kInvalidArgument  CsvTable's; an unknown part, a coefficient that
//                           the model does not have, is given twice or is
//                           missing, a value outside -100 to 100, an interval
//                           without its other end.
[[nodiscard]] Result<ArrivalParameters> parse_parameters(
    std::string_view text, const std::string& name);

// What is compiled in: the committed predictor/data/parameters.csv.
// Errors: as parse_parameters, when the sources do not fit together.
const Result<ArrivalParameters>& builtin_parameters();

}  // namespace penstock
