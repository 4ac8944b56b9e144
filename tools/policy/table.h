// The table of `penstock policy`: who held what and did not use it. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/render.h"
#include "tools/policy/waste.h"

namespace penstock::policy {

struct PolicyTable {
  std::vector<UserFindings> users;
  size_t runs = 0;          // looked at
  double since_unix_s = 0;  // these were seen since then, each counted whole
  Rules rules;
};

// A line for each user and kind. As with render_text() no line is wider than
// style.width, and names cannot control the terminal.
std::string render_table(const PolicyTable& table, const TextStyle& style);
// A record for each finding.
std::string table_csv(const PolicyTable& table);
nlohmann::json table_json(const PolicyTable& table);

}  // namespace penstock::policy
