// A history row in the JSON form of answers (docs/protocol.md, `job_history`).
// Pure.
#pragma once

#include <nlohmann/json.hpp>

#include "wire/job_record.h"

namespace penstock {

// Unknown values are null; the command's hash is left out.
nlohmann::json history_row(const JobRecord& job);
// A field that is missing, null, of another type or not finite keeps
// JobRecord's default, because a controller of another release may leave it
// out.
JobRecord read_history_row(const nlohmann::json& row);

}  // namespace penstock
