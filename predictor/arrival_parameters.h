// The parameter file: a calibration's result as text. Pure.
#pragma once

#include <string>
#include <string_view>

#include "common/result.h"
#include "predictor/arrival.h"

namespace penstock {

// Writes CSV with the columns part, name, value: "roofline,memory.half,-0.612",
// "interval,one_node/low,-0.31". Values have four decimals, so that machines
// with different rounding write the same file.
std::string write_parameters(const ArrivalParameters& parameters);

// Errors: kInvalidArgument  CsvTable's; an unknown part; an unknown, duplicate
//                           or missing coefficient; a value outside -100 to
//                           100; an interval with one end or with low > high.
[[nodiscard]] Result<ArrivalParameters> parse_parameters(
    std::string_view text, const std::string& name);

// The compiled-in parameters, predictor/data/parameters.csv.
// Errors: parse_parameters()'s, if the file does not match the sources.
const Result<ArrivalParameters>& builtin_parameters();

}  // namespace penstock
