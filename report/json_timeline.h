// A timeline as JSON: one list per figure, each on a line of its own
// (docs/report.md). Private to report/.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "common/result.h"
#include "report/timeline.h"

namespace penstock {

inline constexpr double kLargestFigure = 1e18;

// An object, indented by two columns. Times are rounded to milliseconds and
// other figures to four digits, to keep a long timeline small.
std::string timeline_json(const std::vector<TimelinePoint>& points);

// Errors: kInvalidArgument  not an object; a list missing or of another length
//                          than begin_unix_s; an entry of the wrong type or out
//                          of range; times that go back; shares whose sum is
//                          over 1: names the path
//         kLimit            over kMaxParsedTimelinePoints
[[nodiscard]] Result<std::vector<TimelinePoint>> read_timeline(
    const nlohmann::json& in);

}  // namespace penstock
