// ReportDir on the way to the user who writes the reports.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "common/result.h"

namespace penstock {

// Whether it is the name of a report: "7.json", "7.2.txt", or of an unfinished
// one: ".7.json.new". Pure.
bool is_report(std::string_view name);

// Gives the directory of root's to this owner. May hang with its file system.
// Errors: as hand_over().
[[nodiscard]] Status give_report_dir(const std::string& path, uid_t owner);

}  // namespace penstock
