// The line on its report that a job's user gets at the job's end. Pure.
#pragma once

#include <string>

#include "report/report.h"

namespace penstock {

// "penstock: Input-bound: 31% of step time waits for data (fetch 22%, prep 9%);
// penstock report 4711". With the first mistake at the start instead of what is
// in brackets. At most kMaxNoticeBytes. "": the run was shorter than
// recommend_after_s, or there is neither a verdict nor a mistake.
inline constexpr size_t kMaxNoticeBytes = 119;
std::string notice(const JobReport& report);

// Whether the job waits for its data, or was started with a mistake.
bool has_remedy(const JobReport& report);

}  // namespace penstock
