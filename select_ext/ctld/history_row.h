// A row of the history as answers carry it (docs/protocol.md, `job_history`).
// Pure.
#pragma once

#include <nlohmann/json.hpp>

#include "select_ext/ctld/job_record.h"

namespace penstock {

// What is not known is null; the command's hash is left out.
nlohmann::json history_row(const JobRecord& job);
// What is missing, null, of another kind or not finite is as a JobRecord has
// it that nobody filled in: a controller of another release may leave it out.
JobRecord read_history_row(const nlohmann::json& row);

}  // namespace penstock
