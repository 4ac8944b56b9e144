// A report as one HTML file. Pure.
#pragma once

#include <string>

#include "report/report.h"

namespace penstock {

// What is drawn of a longer course, and what its tables hold; less where the
// page would be too large.
inline constexpr size_t kDrawnPoints = 360;
inline constexpr size_t kToldPoints = 48;
// More grant changes than this are told together, those of a marker in a row.
inline constexpr size_t kToldChanges = 100;
// A page never has more bytes.
inline constexpr size_t kMaxHtmlBytes = 300'000;

// A whole page in UTF-8: well-formed as XML too, without script, and without
// any reference to something outside it. The same report gives the same bytes.
// Times are in UTC and relative to the job's start; unknown figures are shown
// as "-".
std::string render_html(const JobReport& report);

}  // namespace penstock
