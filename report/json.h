// Reports and node states as JSON (docs/report.md). Pure.
//
// PENSTOCK_STATUS is answered with to_json(NodeStatus) where job_id is 0 and
// with to_json(JobReport) where it names a job, PENSTOCK_SWITCH with
// to_json(NodeSwitch). All carry "schema_version" and "kind"; unknown figures
// are null.
#pragma once

#include <string>
#include <string_view>

#include "common/result.h"
#include "report/node_status.h"
#include "report/report.h"

namespace penstock {

inline constexpr size_t kMaxReportJsonBytes = 8u << 20;

// Indented text with a final newline. Strings are cut to kMaxReportTextBytes
// and bytes of theirs that are not UTF-8 replaced; an optional figure that is
// NaN or has no end becomes null, a negative one 0. The verdict and the
// recommendations are written too; reading ignores them.
std::string to_json(const JobReport& report);
std::string to_json(const NodeStatus& status);
std::string to_json(const NodeSwitch& done);

// Reads what to_json() wrote; the text may be anything. Keys that are not
// known are ignored (a later minor version may add some).
// Errors: kInvalidArgument  not JSON; another kind or schema_version; a key
//                           missing, of the wrong type or out of range: its
//                           path is named
//         kLimit            over kMaxReportJsonBytes or a list's bound
// A breakdown that does not add up is made anew from its parts.
[[nodiscard]] Result<JobReport> parse_report(std::string_view text);
[[nodiscard]] Result<NodeStatus> parse_node_status(std::string_view text);
[[nodiscard]] Result<NodeSwitch> parse_node_switch(std::string_view text);

}  // namespace penstock
