#include "select_ext/ctld/cluster_view.h"

#include "tests/unit/catch.h"
#include "tests/unit/wire/agents.h"

namespace penstock {
namespace {

constexpr double kNow_s = 100;

struct Cluster {
  Cluster() : controller({}, {pool_of("scratch", 1000)}, Policy::kThroughput) {}

  void hello(const std::string& node, NodeHello message, double at_s) {
    AgentSaid said;
    said.node = node;
    said.session = 1;
    said.sequence = ++sequence;
    message.silence_s = 1e6;
    said.message = std::move(message);
    controller.on_message(said, at_s);
  }

  // After the first time-out the controller is active and has solved.
  ClusterView view(double at_s = kNow_s) {
    controller.on_tick(at_s, 1.78e9);
    return view_of(controller, "ctl:6830", Policy::kThroughput, at_s, 1.78e9);
  }

  Controller controller;
  uint64_t sequence = 0;
};

TEST_CASE("the view of an empty cluster has its pools, but no jobs or nodes") {
  Cluster cluster;
  const ClusterView view = cluster.view();
  CHECK(view.controller == "ctl:6830");
  CHECK(view.policy == std::string("throughput"));
  CHECK(view.time_unix_s == 1.78e9);
  CHECK_FALSE(view.is_active);
  CHECK(view.jobs.empty());
  CHECK(view.nodes.empty());
  REQUIRE(view.pools.size() == 1);
  CHECK(view.pools[0].bandwidth_bytes_per_s == 1000);
}

TEST_CASE("the view adds up a job's parts, and its needs on nodes and pools") {
  Cluster cluster;
  // 1 ms of loader CPU a sample: 4 cores give 4000 samples/s to one rank.
  JobPart wide = reading(part_of(7, 1000, 4), "scratch", 0.01);
  JobPart short_of_cores = wide;
  short_of_cores.ranks = 2;
  short_of_cores.entitled_cores = 1;
  short_of_cores.ceiling = 900;
  cluster.hello("n2", hello_of(4, {wide}), 0);
  cluster.hello("n1", hello_of(1, {short_of_cores}), 90);
  cluster.hello("n2", hello_of(8, {wide, part_of(8, 500, 4)}), 90);
  const ClusterView view = cluster.view();
  REQUIRE(view.is_active);
  CHECK(view.term == cluster.controller.term());
  REQUIRE(view.jobs.size() == 2);
  const JobView& job = view.jobs[0];
  CHECK(job.job_id == 7);
  CHECK(job.uid == 1000);
  CHECK(job.name == "train");
  CHECK(job.ranks == 3);
  CHECK(job.nodes == std::vector<std::string>{"n2", "n1"});
  CHECK(job.entitled_cores == 5);
  CHECK(job.pool == "scratch");
  CHECK(*job.ceiling_samples_per_s == 900);
  // Two ranks share one core of n1: 500 samples/s each.
  CHECK(*job.rate_samples_per_s == Approx(500).epsilon(0.01));
  CHECK(*job.floor_samples_per_s <= *job.rate_samples_per_s * 1.0001);
  CHECK(*job.loader_cores == Approx(1.5).epsilon(0.01));
  CHECK(*job.storage_bytes_per_s == Approx(15).epsilon(0.01));
  REQUIRE(view.nodes.size() == 2);
  CHECK(view.nodes[0].name == "n1");
  CHECK(view.nodes[0].heard_ago_s == Approx(kNow_s - 90));
  CHECK(view.nodes[0].planned_cores == Approx(1).epsilon(0.01));
  CHECK(view.nodes[0].ranks == 2);
  CHECK(view.nodes[1].name == "n2");
  CHECK(view.nodes[1].jobs == 2);
  CHECK(view.nodes[1].planned_cores == Approx(1.0).epsilon(0.01));
  CHECK(view.pools[0].jobs == 1);
  CHECK(view.pools[0].planned_bytes_per_s == Approx(15).epsilon(0.01));
}

TEST_CASE("a job of unknown costs has neither rate nor ceiling") {
  Cluster cluster;
  JobPart blind = part_of(7, 2, 4);
  blind.in_cores = true;
  cluster.hello("n1", hello_of(4, {blind}), 0);
  cluster.hello("n1", hello_of(4, {blind}), 90);
  const ClusterView view = cluster.view();
  REQUIRE(view.jobs.size() == 1);
  CHECK_FALSE(view.jobs[0].ceiling_samples_per_s);
  CHECK_FALSE(view.jobs[0].rate_samples_per_s);
  CHECK_FALSE(view.jobs[0].loader_cores);
  CHECK(view.jobs[0].entitled_cores == 4);
}

TEST_CASE("a silent node and the jobs with ranks on it are marked") {
  Cluster cluster;
  cluster.hello("n1", hello_of(4, {part_of(7, 1000, 4)}), 0);
  cluster.hello("n2", hello_of(4, {part_of(8, 1000, 4)}), 95);
  const ClusterView view = cluster.view(100);
  REQUIRE(view.nodes.size() == 2);
  CHECK(view.nodes[0].is_silent);
  CHECK_FALSE(view.nodes[1].is_silent);
  CHECK(view.jobs[0].is_silent);
  CHECK_FALSE(view.jobs[1].is_silent);
}

}  // namespace
}  // namespace penstock
