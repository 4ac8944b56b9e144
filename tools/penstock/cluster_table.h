// What the cluster's GPUs and lent cores came to, without a name, a user or a
// job: what `penstock report --cluster` prints. docs/stalls.md says how each
// figure is made. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "report/render.h"
#include "select_ext/ctld/stall_totals.h"

namespace penstock {

//   since_unix_s  0: all that is remembered
std::string render_cluster_table(const StallTotals& totals, double since_unix_s,
                                 const TextStyle& style = {});
// A header and one record.
std::string cluster_table_csv(const StallTotals& totals, double since_unix_s);
nlohmann::json cluster_table_json(const StallTotals& totals,
                                  double since_unix_s);

}  // namespace penstock
