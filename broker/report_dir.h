// ReportDir on the way to the user who writes the reports.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "common/result.h"

namespace penstock {

// Whether it is the name of a job's directory of reports, "7", or of a report
// of version 0.1: "7.json", "7.2.txt", unfinished ".7.json.new". Pure.
bool is_report(std::string_view name);

// Gives the directory of root's to this owner. May hang with its file system.
// Errors: as hand_over().
[[nodiscard]] Status give_report_dir(const std::string& path, uid_t owner);

}  // namespace penstock
