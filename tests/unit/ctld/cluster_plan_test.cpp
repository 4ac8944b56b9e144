#include "select_ext/ctld/cluster_plan.h"

#include "tests/unit/catch.h"
#include "tests/unit/wire/agents.h"

using namespace penstock;
using Catch::Matchers::ContainsSubstring;

namespace {

int add(ClusterPlan& plan, const std::string& name, const NodeHello& hello) {
  Result<int> node = plan.set_node(name, hello);
  REQUIRE(node.ok());
  return *node;
}

void solve(ClusterPlan& plan) {
  for (const Error& error : plan.solve()) FAIL(error.message);
}

}  // namespace

TEST_CASE("a job that spans nodes runs at its slowest rank's rate") {
  ClusterPlan plan({}, Policy::kThroughput);
  // 4 cores allow 4000/s here, 1 core 1000/s there.
  add(plan, "n1", hello_of(4, {part_of(1, 5000, 4)}));
  add(plan, "n2", hello_of(1, {part_of(1, 5000, 1)}));
  solve(plan);
  REQUIRE(plan.rate(1).has_value());
  CHECK(plan.rate(1)->rate == Approx(1000).epsilon(1e-3));
  CHECK(plan.rate(1)->floor == Approx(1000));
  CHECK(plan.nodes_of(1) == std::set<int>{0, 1});
}

TEST_CASE("cores beyond a slow rank's rate go to the neighbouring job") {
  ClusterPlan plan({}, Policy::kThroughput);
  add(plan, "n1", hello_of(8, {part_of(1, 5000, 4), part_of(2, 9000, 4)}));
  add(plan, "n2", hello_of(1, {part_of(1, 5000, 1)}));
  solve(plan);
  CHECK(plan.rate(1)->rate == Approx(1000).epsilon(1e-3));
  CHECK(plan.rate(2)->rate == Approx(7000).epsilon(1e-2));
}

TEST_CASE("a slower node counts with its own costs of a sample") {
  ClusterPlan plan({}, Policy::kThroughput);
  add(plan, "fast", hello_of(1, {part_of(1, 5000, 1)}));
  JobPart slow = part_of(1, 5000, 1);
  slow.loader_cpu_s_per_sample = 0.004;
  add(plan, "slow", hello_of(1, {slow}));
  solve(plan);
  CHECK(plan.rate(1)->rate == Approx(250).epsilon(1e-3));
}

TEST_CASE(
    "the low measured rate of a waiting rank does not lower a job's ceiling") {
  ClusterPlan plan({}, Policy::kThroughput);
  // The second rank measures the rate of the first as its ceiling.
  add(plan, "n1", hello_of(8, {part_of(1, 5000, 2)}));
  add(plan, "n2", hello_of(8, {part_of(1, 1000, 2)}));
  solve(plan);
  CHECK(plan.rate(1)->rate == Approx(5000).epsilon(1e-3));
}

TEST_CASE("cores of trainers and unmanaged jobs do not count as loader cores") {
  ClusterPlan plan({}, Policy::kThroughput);
  NodeHello hello = hello_of(8, {part_of(1, 9000, 2)});
  hello.loader_cores = 3;
  const int node = add(plan, "n1", hello);
  solve(plan);
  CHECK(plan.rate(1)->rate == Approx(3000).epsilon(1e-3));
  REQUIRE(plan.set_loader_cores(node, 6).ok());
  solve(plan);
  CHECK(plan.rate(1)->rate == Approx(6000).epsilon(1e-3));
}

TEST_CASE("the end of a job releases its resources") {
  ClusterPlan plan({}, Policy::kThroughput);
  const int node =
      add(plan, "n1", hello_of(4, {part_of(1, 9000, 2), part_of(2, 9000, 2)}));
  solve(plan);
  CHECK(plan.rate(1)->rate + plan.rate(2)->rate == Approx(4000).epsilon(1e-3));
  plan.end_part(node, 4, 2);
  solve(plan);
  CHECK(plan.rate(1)->rate == Approx(4000).epsilon(1e-3));
  CHECK_FALSE(plan.rate(2).has_value());
  CHECK(plan.job_count() == 1);
}

TEST_CASE("a silent node's jobs stay at their floors") {
  ClusterPlan plan({}, Policy::kThroughput);
  const int node = add(plan, "n1", hello_of(4, {part_of(1, 9000, 1)}));
  add(plan, "n2", hello_of(4, {part_of(1, 9000, 1)}));
  solve(plan);
  CHECK(plan.rate(1)->rate == Approx(4000).epsilon(1e-3));
  plan.set_silent(node, true);
  solve(plan);
  CHECK(plan.rate(1)->rate == Approx(1000).epsilon(1e-3));
  plan.set_silent(node, false);
  solve(plan);
  CHECK(plan.rate(1)->rate == Approx(4000).epsilon(1e-3));
}

TEST_CASE("a job whose page contradicts the kernel gets its floor") {
  ClusterPlan plan({}, Policy::kThroughput);
  JobPart liar = part_of(1, 9000, 1);
  liar.on_entitlement = true;
  add(plan, "n1", hello_of(4, {liar}));
  solve(plan);
  CHECK(plan.rate(1)->rate == Approx(1000).epsilon(1e-3));
}

TEST_CASE("a part of unknown cost neither limits its job nor gets a rate") {
  ClusterPlan plan({}, Policy::kThroughput);
  JobPart unknown = part_of(1, 2, 1);
  unknown.in_cores = true;
  add(plan, "n1", hello_of(4, {part_of(1, 3000, 2)}));
  add(plan, "n2", hello_of(4, {unknown}));
  add(plan, "n3", hello_of(4, {[&] {
                             JobPart only = unknown;
                             only.id = 2;
                             return only;
                           }()}));
  solve(plan);
  CHECK(plan.rate(1)->rate == Approx(3000).epsilon(1e-3));
  CHECK_FALSE(plan.rate(2).has_value());
}

TEST_CASE("bandwidth of a pool moves between jobs on different nodes") {
  ClusterPlan plan({pool_of("net", 1000)}, Policy::kThroughput);
  add(plan, "n1", hello_of(4, {reading(part_of(1, 100, 4), "net", 1)}));
  add(plan, "n2", hello_of(4, {reading(part_of(2, 2000, 4), "net", 1)}));
  solve(plan);
  CHECK(plan.rate(1)->rate == Approx(100).epsilon(1e-3));
  CHECK(plan.rate(2)->rate == Approx(900).epsilon(1e-2));
  CHECK(plan.rate(2)->floor == Approx(500));
  CHECK(plan.all_shares(0) == 2);
  const auto readers = plan.readers(0);
  REQUIRE(readers.size() == 2);
  CHECK(readers[1].wanted_bytes_per_s == Approx(900).epsilon(1e-2));
}

TEST_CASE("additional processes get no larger part of a pool") {
  ClusterPlan plan({pool_of("net", 1000)}, Policy::kThroughput);
  JobPart many = reading(part_of(1, 2000, 4), "net", 1);
  many.ranks = 4;  // only one counts
  add(plan, "n1", hello_of(4, {many}));
  add(plan, "n2", hello_of(4, {reading(part_of(2, 2000, 4), "net", 1)}));
  solve(plan);
  CHECK(plan.rate(1)->floor == Approx(500.0 / 4));
  CHECK(plan.rate(2)->floor == Approx(500));
}

TEST_CASE("a pool that is unshared or unknown limits no job") {
  PoolConfig local = pool_of("local", 10);
  local.shared = false;
  ClusterPlan plan({local}, Policy::kThroughput);
  add(plan, "n1", hello_of(4, {reading(part_of(1, 100, 4), "local", 1)}));
  add(plan, "n2", hello_of(4, {reading(part_of(2, 100, 4), "else", 1)}));
  solve(plan);
  CHECK(plan.pools().empty());
  CHECK(plan.rate(1)->rate == Approx(100).epsilon(1e-3));
  CHECK(plan.rate(2)->rate == Approx(100).epsilon(1e-3));
}

TEST_CASE(
    "inconsistent core counts of an agent are refused with node and field") {
  ClusterPlan plan({}, Policy::kThroughput);
  NodeHello hello = hello_of(4, {part_of(1, 100, 3), part_of(2, 100, 2)});
  Result<int> node = plan.set_node("n1", hello);
  REQUIRE_FALSE(node.ok());
  CHECK_THAT(node.error().message, ContainsSubstring("node n1"));
  CHECK_THAT(node.error().message, ContainsSubstring("entitled_cores"));
  CHECK_FALSE(plan.find_node("n1").has_value());
  hello.parts.pop_back();
  hello.loader_cores = 5;
  node = plan.set_node("n1", hello);
  REQUIRE_FALSE(node.ok());
  CHECK_THAT(node.error().message, ContainsSubstring("loader_cores"));
}

TEST_CASE("a part that does not fit is refused, other parts of the node stay") {
  ClusterPlan plan({}, Policy::kThroughput);
  const int node = add(plan, "n1", hello_of(4, {part_of(1, 9000, 3)}));
  const Status refused = plan.set_part(node, 4, part_of(2, 9000, 2));
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(refused.error().message, ContainsSubstring("job 2"));
  CHECK_THAT(refused.error().message, ContainsSubstring("node n1"));
  solve(plan);
  CHECK(plan.rate(1)->rate == Approx(4000).epsilon(1e-3));
  CHECK_FALSE(plan.rate(2).has_value());
}

TEST_CASE(
    "with Policy=even no rate is planned, and readers get their entitlement") {
  ClusterPlan plan({pool_of("net", 1000)}, Policy::kEven);
  add(plan, "n1", hello_of(4, {reading(part_of(1, 100, 4), "net", 1)}));
  solve(plan);
  CHECK_FALSE(plan.rate(1).has_value());
  CHECK(plan.readers(0)[0].gets_entitlement);
}
