// A course as JSON: one list for each of its figures, each list on a line of
// its own (docs/report.md). Private to report/.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "common/result.h"
#include "report/timeline.h"

namespace penstock {

// An object that stands two columns deep. Times are rounded to milliseconds,
// other figures to four digits, so that a long course stays small.
std::string timeline_json(const std::vector<TimelinePoint>& points);

// Errors: kInvalidArgument  no object; a list missing or of another length than
//                           begin_unix_s; an entry of the wrong type or out of
//                           range; times that go back; shares over 1 together:
//                           the path is named
//         kLimit            over kMaxParsedTimelinePoints
[[nodiscard]] Result<std::vector<TimelinePoint>> read_timeline(
    const nlohmann::json& in);

}  // namespace penstock
