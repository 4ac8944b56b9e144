// The cluster's table, against golden files.
#include "tools/penstock/cluster_table.h"

#include "golden.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

using nlohmann::json;

StallTotals totals() {
  StallTotals sums;
  sums.runs = 42;
  sums.running = 3;
  sums.cores_known = 40;
  sums.ran_gpu_h = 1234.5;
  sums.stand_in_gpu_h = 34.5;
  sums.told_gpu_h = 1200;
  sums.estimated_gpu_h = 100;
  sums.parts_gpu_h.compute = 900;
  sums.known_gpu_h.compute = 1100;
  sums.parts_gpu_h.fetch_stall = 60;
  sums.known_gpu_h.fetch_stall = 1200;
  sums.known_gpu_h.prep_stall = 1200;
  sums.stalled_gpu_h = 60;
  sums.stalled_known_gpu_h = 1200;
  sums.home_core_h = 5000;
  sums.away_core_h = 750;
  sums.lent_core_h = 500;
  sums.judged_gpu_h = 900;
  sums.gained_gpu_h = 135.5;
  sums.below_floor_gpu_h = 1.25;
  return sums;
}

TEST_CASE("the cluster's table equals the golden files") {
  const std::string path = std::string(PENSTOCK_FIXTURES) + "/";
  const std::string text = render_cluster_table(totals(), 1780000000);
  CHECK(text == golden(path + "cluster.txt", text));
  check_page(text);
  const std::string none = render_cluster_table({}, 0);
  CHECK(none == golden(path + "cluster_unknown.txt", none));
  check_page(none);
  const std::string csv = cluster_table_csv(totals(), 1780000000);
  CHECK(csv == golden(path + "cluster.csv", csv));
}

TEST_CASE("the cluster's table fits every width") {
  for (const int width : {60, 132, 200}) {
    check_page(render_cluster_table(totals(), 0, {.width = width}),
               size_t(width));
  }
}

TEST_CASE("the cluster's JSON has the sums") {
  const json document = cluster_table_json(totals(), 7);
  CHECK(document["kind"] == "cluster_stalls");
  CHECK(document["since_unix_s"] == 7.0);
  CHECK(document["totals"]["unattributed_gpu_h"] == 240.0);
  CHECK(read_stall_totals(document["totals"]) == totals());
}

}  // namespace
}  // namespace penstock
