// Totals of the cluster's GPUs and lent cores, without names, users or jobs,
// for `penstock report --cluster`. docs/stalls.md defines each figure. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "report/render.h"
#include "select_ext/ctld/stall_totals.h"

namespace penstock {

//   since_unix_s  0: the whole history
std::string render_cluster_table(const StallTotals& totals, double since_unix_s,
                                 const TextStyle& style = {});
// The same as an HTML page.
std::string render_cluster_page(const StallTotals& totals, double since_unix_s);
// A header and one record.
std::string cluster_table_csv(const StallTotals& totals, double since_unix_s);
nlohmann::json cluster_table_json(const StallTotals& totals,
                                  double since_unix_s);

}  // namespace penstock
