// Runs given crops of pictures through the loader's decoder and resampler.
#pragma once

#include <cstdio>

#include "common/result.h"

namespace penstock {

// Reads lines "x y width height flip path" (whole pixels; flip: 0 or 1). For
// each it writes 3 x 224 x 224 floats (channel, row, column), normalised.
// Errors: kInvalidArgument  a line is malformed, or its picture is broken;
//         kNotFound, kPermissionDenied, kIo. They name the line or the path.
[[nodiscard]] Status write_crops(std::FILE* lines, std::FILE* out);

}  // namespace penstock
