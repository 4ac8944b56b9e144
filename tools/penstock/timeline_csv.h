// A report's timeline as CSV. Pure.
#pragma once

#include <string>
#include <vector>

#include "report/timeline.h"

namespace penstock {

// A record of the columns' names, then one for each point; docs/report.md,
// section "Timeline". An unknown figure is empty.
std::string timeline_csv(const std::vector<TimelinePoint>& points);

}  // namespace penstock
