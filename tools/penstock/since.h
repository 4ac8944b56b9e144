// Parses the start of a period. Pure.
#pragma once

#include <string_view>

#include "common/result.h"

namespace penstock {

// "30m", "12h", "7d", "2w" before now (fractions are allowed: "1.5d"), or a
// date in UTC: "2026-11-01", "2026-11-01T14:30", "2026-11-01T14:30:05", each
// with an optional "Z". Returns seconds since 1970.
// Errors: kInvalidArgument  anything else, an empty text, or a future time
[[nodiscard]] Result<double> parse_since(std::string_view text,
                                         double now_unix_s);

}  // namespace penstock
