// Reports and node states as JSON (docs/report.md). Pure.
//
// The reply to PENSTOCK_STATUS is to_json(NodeStatus) for job_id 0, else
// to_json(JobReport). The reply to PENSTOCK_SWITCH is to_json(NodeSwitch). All
// carry "schema_version" and "kind"; unknown figures are null.
#pragma once

#include <string>
#include <string_view>

#include "common/result.h"
#include "report/node_status.h"
#include "report/report.h"

namespace penstock {

inline constexpr size_t kMaxReportJsonBytes = 8u << 20;

// Indented text with a final newline. Strings are cut to kMaxReportTextBytes,
// and invalid UTF-8 in them is replaced. An optional figure that is NaN or
// infinite becomes null, a negative one 0. The verdict and the recommendations
// are written too; reading ignores them.
std::string to_json(const JobReport& report);
std::string to_json(const NodeStatus& status);
std::string to_json(const NodeSwitch& done);

// Parses to_json()'s output; the text may be arbitrary. Unknown keys are
// ignored, because a later minor version may add some. A breakdown that does
// not add up is recomputed from its parts.
// Errors: kInvalidArgument  not JSON; another kind or schema_version; a key
//                          missing, of the wrong type or out of range: names
//                          its path
//         kLimit            over kMaxReportJsonBytes or a list's bound
[[nodiscard]] Result<JobReport> parse_report(std::string_view text);
[[nodiscard]] Result<NodeStatus> parse_node_status(std::string_view text);
[[nodiscard]] Result<NodeSwitch> parse_node_switch(std::string_view text);

}  // namespace penstock
