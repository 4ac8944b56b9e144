// A job's timeline as lines of text, one per figure. Private to report/.
#pragma once

#include "report/report.h"
#include "report/text.h"

namespace penstock {

// Adds nothing if the report has no timeline.
void render_timeline(const JobReport& report, Page& page);

}  // namespace penstock
