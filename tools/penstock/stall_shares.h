// Breakdown of time as shares, for display. Pure.
#pragma once

#include <array>
#include <string>

#include "report/report.h"
#include "select_ext/ctld/stall_totals.h"
#include "wire/run_totals.h"

namespace penstock {

// The parts in the order of kWallParts, then unattributed.
using ShareTexts = std::array<std::string, kBreakdownParts>;

inline constexpr const char* kUnknownShare = "---";

// "12.5%" of the wall time; "---" for an unknown part, as opposed to "0.0%".
// Rounded so that they add up to 100.0%.
ShareTexts share_texts(const RunTotals& run);
// Shares of the GPU hours that a breakdown covers. A part is unknown if no run
// knows it; hours of runs that do not know it count as unattributed.
ShareTexts share_texts(const StallTotals& totals);

// The main cause of the run's stall: "fetch", "prep", "exchange", or "data" if
// the cause is unknown. Below a stall of 5% of the wall time: "compute", or
// "other" if less than half of the time is known to be compute. A "?" follows
// if the job did not report its waiting time. "unknown" without figures.
std::string verdict_word(const RunTotals& run);

}  // namespace penstock
