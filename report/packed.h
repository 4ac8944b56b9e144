// A report in few bytes, for its way to a controller and its time there. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/result.h"
#include "report/report.h"

namespace penstock {

// Points of a packed report's timeline, at most.
inline constexpr size_t kPackedPoints = 512;
// Fits an envelope (wire/envelope.h) as hexadecimal text.
inline constexpr size_t kMaxPackedBytes = 180'000;

// The report's JSON, compressed. Its timeline is made coarser until it fits; at
// last it has none.
// Errors: kLimit  it does not fit even then.
[[nodiscard]] Result<std::string> pack_report(JobReport report);

// Errors: kInvalidArgument  cut short, or not what pack_report() writes
//         kLimit            a report of more than kMaxReportJsonBytes
[[nodiscard]] Result<JobReport> unpack_report(std::string_view packed);

}  // namespace penstock
