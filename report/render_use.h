// A job's entitlement, requests, grants and use, as tables of text. Private to
// report/.
#pragma once

#include "report/report.h"
#include "report/text.h"

namespace penstock {

void render_cores(const JobReport& report, Page& page);
// Adds nothing if Penstock acted for the job.
void render_would_have(const JobReport& report, Page& page);
void render_bandwidth(const BandwidthFigures& bandwidth, Page& page);
// Adds nothing if the loader has no cache.
void render_cache(const CacheFigures& cache, Page& page);

}  // namespace penstock
