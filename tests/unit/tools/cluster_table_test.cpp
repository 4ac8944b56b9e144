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
  sums.guest_core_h = 40;
  sums.judged_gpu_h = 900;
  sums.gained_gpu_h = 135.5;
  sums.below_floor_gpu_h = 1.25;
  return sums;
}

// A canary: one of twenty jobs was lent to.
StallTotals canary() {
  StallTotals sums = totals();
  sums.observed_gpu_h = 1150;
  sums.would_judged_gpu_h = 1000;
  sums.would_save_gpu_h = 210;
  sums.would_save_low_gpu_h = 150;
  sums.would_save_high_gpu_h = 260;
  sums.would_borrow_core_h = 900;
  sums.would_lend_core_h = 600;
  // Shares of 0.2 and 0.1, with a standard deviation of 0.1.
  sums.observed = {950, 1150, 250, 190, 950 * (0.04 + 0.01)};
  sums.acted = {50, 60, 5, 5, 50 * (0.01 + 0.01)};
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

TEST_CASE("the table of a canary equals the golden file") {
  const std::string path = std::string(PENSTOCK_FIXTURES) + "/";
  const std::string text = render_cluster_table(canary(), 1780000000);
  CHECK(text == golden(path + "cluster_canary.txt", text));
  check_page(text);
}

TEST_CASE("with too few runs of a group no difference is claimed") {
  StallTotals few = canary();
  few.acted.runs = kLeastRuns - 1;
  const std::string text = render_cluster_table(few, 0);
  CHECK(text.find("too few runs: 20 of each are needed") != std::string::npos);
  CHECK(text.find("points on average") == std::string::npos);
}

TEST_CASE("the page has what the text has, and fetches nothing") {
  const std::string page = render_cluster_page(canary(), 1780000000);
  for (const char* part :
       {"default-src", "<h1>Penstock: the cluster", "Runs seen since",
        "would have gained", "210 [150 to 260]", "21.0% of the hours judged",
        "less lost by a run", "10.0", "of 1150 GPU hours lost, in 950 runs"}) {
    INFO(part);
    CHECK(page.find(part) != std::string::npos);
  }
  CHECK(page.find("src=") == std::string::npos);
  CHECK(render_cluster_page({}, 0).find("Only observed") == std::string::npos);
}

TEST_CASE("the cluster's table fits every width") {
  for (const int width : {60, 132, 200}) {
    check_page(render_cluster_table(canary(), 0, {.width = width}),
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
