// A report as one HTML file. Pure.
#pragma once

#include <string>

#include "report/report.h"

namespace penstock {

// Limits of the points drawn, and of the points in tables; lower if the page
// would be too large.
inline constexpr size_t kDrawnPoints = 360;
inline constexpr size_t kToldPoints = 48;
// Beyond this number, grant changes are grouped: one row per marker.
inline constexpr size_t kToldChanges = 100;
// Limit of a page's size.
inline constexpr size_t kMaxHtmlBytes = 300'000;

// A whole page in UTF-8: well-formed XML too, without script, and without any
// reference to external content. The same report gives the same bytes. Times
// are in UTC and relative to the job's start; unknown figures are shown as "-".
std::string render_html(const JobReport& report);

}  // namespace penstock
