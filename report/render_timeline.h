// A job's course as lines of text, one for each figure. Private to report/.
#pragma once

#include "report/report.h"
#include "report/text.h"

namespace penstock {

// Adds nothing where the report has no course.
void render_timeline(const JobReport& report, Page& page);

}  // namespace penstock
