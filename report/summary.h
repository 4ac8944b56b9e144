// A report in one short line, for portals and scripts. Pure.
#pragma once

#include <string>

#include "report/report.h"

namespace penstock {

inline constexpr size_t kMaxSummaryBytes = 1000;

// JSON of the single key "penstock": docs/report.md, section "Summary". No
// newline and no apostrophe, ASCII, at most kMaxSummaryBytes: advice that does not fit is left
// out.
std::string summary_json(const JobReport& report);

}  // namespace penstock
