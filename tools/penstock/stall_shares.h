// Where time went, as shares for people. Pure.
#pragma once

#include <array>
#include <string>

#include "report/report.h"
#include "select_ext/ctld/run_totals.h"
#include "select_ext/ctld/stall_totals.h"

namespace penstock {

// Compute, fetch, prep and exchange stall, unattributed.
using ShareTexts = std::array<std::string, kBreakdownParts>;

inline constexpr const char* kUnknownShare = "---";

// "12.5%" of the wall time; "---" for a part that is not known, which is not
// 0.0%. Rounded so that they add up to 100.0%.
ShareTexts share_texts(const RunTotals& run);
// The same of the GPU hours that a breakdown covers. A part that no run knew is
// not known; what some did not know is unattributed.
ShareTexts share_texts(const StallTotals& totals);

// In a word, what the run waited for: "fetch", "prep" or "exchange", whichever
// is most, or "data" where that is of no known cause, from 5% of the wall time
// on; "compute", or "other" where less than half of it is. "?" follows where
// the job itself has not reported how long it waited. "unknown".
std::string verdict_word(const RunTotals& run);

}  // namespace penstock
