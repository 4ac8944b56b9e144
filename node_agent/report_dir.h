// Checks the directory of finished jobs' reports.
#pragma once

#include <functional>
#include <string>

#include "node_agent/bounded_child.h"

namespace penstock {

// Calls back with why no reports can be written to ReportDir: it is missing,
// another user's, or open to others; "": they can. A child looks, because the
// directory may be on a network file system without its server.
void check_report_dir(BoundedChildren& children, const std::string& path,
                      std::function<void(const std::string& fault)> callback);

}  // namespace penstock
