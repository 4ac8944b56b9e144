#include "select_ext/allocator/cluster.h"

#include <cmath>
#include <limits>

#include "tests/unit/catch.h"

namespace penstock::allocator {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;

// Rates are granted to this share of the ceiling: the width of the band.
constexpr double kBand = 1e-3;

// One rank on each of `nodes`; ceiling 100, `cores` a rank for it.
ClusterJob job(uint64_t id, std::vector<int> nodes, double cores,
               double entitled_cores = 0) {
  ClusterJob job;
  job.id = id;
  job.ceiling = 100;
  job.cores_curve = {{100, cores}};
  for (int node : nodes) job.parts.push_back({node, 1, entitled_cores, 1});
  job.weight = static_cast<double>(nodes.size());
  return job;
}

ClusterSolver solver(std::vector<ClusterNode> nodes,
                     std::vector<double> pools = {},
                     Policy objective = Policy::kThroughput) {
  Result<ClusterSolver> solver =
      ClusterSolver::create(std::move(nodes), std::move(pools), objective);
  REQUIRE(solver);
  return std::move(*solver);
}

void add(ClusterSolver& solver, const ClusterJob& job) {
  const Status status = solver.add(job);
  INFO((status ? "" : status.error().message));
  REQUIRE(status);
}

TEST_CASE("a job that runs alone gets its ceiling") {
  ClusterSolver it = solver({{8, 0}});
  add(it, job(1, {0}, 4));
  it.settle();
  CHECK(*it.rate(1) == 100);
  CHECK(it.full_nodes() == 0);
}

TEST_CASE("above the floors, cores go to the jobs that gain most from them") {
  ClusterSolver it = solver({{6, 0}});
  add(it, job(1, {0}, 4, 1));  // floor 25
  add(it, job(2, {0}, 8, 2));  // floor 25
  it.settle();
  CHECK_THAT(*it.rate(1), WithinAbs(100, 100 * kBand));
  CHECK_THAT(*it.rate(2), WithinAbs(25, 100 * kBand));
  CHECK(*it.rate(2) >= *it.floor(2));
  CHECK(it.full_nodes() == 1);
  CHECK(it.gap() < kBand);
}

TEST_CASE("cores beyond a spanning job's slowest rank go to its neighbour") {
  // Node 1 has 2 cores for job 1's second rank, so its first needs 2 as well.
  ClusterSolver it = solver({{8, 0}, {2, 0}});
  add(it, job(1, {0, 1}, 8, 2));
  add(it, job(2, {0}, 8, 1));
  it.settle();
  CHECK_THAT(*it.rate(1), WithinAbs(25, 100 * kBand));
  CHECK_THAT(*it.rate(2), WithinAbs(75, 100 * kBand));
}

TEST_CASE("a pool's bandwidth moves between jobs on different nodes") {
  ClusterSolver it = solver({{8, 0}, {8, 0}}, {1000});
  ClusterJob cheap = job(1, {0}, 1);
  cheap.bytes_per_sample = 5;  // 500 bytes/s at the ceiling
  cheap.pool = 0;
  ClusterJob dear = job(2, {1}, 1);
  dear.bytes_per_sample = 20;
  dear.pool = 0;
  add(it, cheap);
  add(it, dear);
  it.settle();
  CHECK_THAT(*it.rate(1), WithinAbs(100, 100 * kBand));
  CHECK_THAT(*it.rate(2), WithinAbs(25, 100 * kBand));
  CHECK(it.full_pools() == 1);
  REQUIRE(it.remove(1));
  it.settle();
  CHECK_THAT(*it.rate(2), WithinAbs(50, 100 * kBand));
}

// Each price changes the use of both resources by nearly the same amount: if
// they are set in turn, they hardly converge.
TEST_CASE("two resources that nearly the same jobs use are priced together") {
  for (const Policy objective : {Policy::kThroughput, Policy::kFair}) {
    ClusterSolver it = solver({{10, 0}}, {1000}, objective);
    for (uint64_t id = 1; id <= 8; ++id) {
      ClusterJob reader = job(id, {0}, 2);
      reader.weight = 1 + 0.01 * double(id);
      reader.bytes_per_sample = 2 + (id % 2 == 0 ? 0.01 : -0.01) * double(id);
      reader.pool = 0;
      add(it, reader);
    }
    it.settle();
    CHECK(it.gap() < kBand);
  }
}

TEST_CASE("a job's share of a pool is its floor and grows as other jobs end") {
  ClusterSolver it = solver({{8, 0}}, {1000});
  for (uint64_t id = 1; id <= 4; ++id) {
    ClusterJob reader = job(id, {0}, 1, 1);
    reader.bytes_per_sample = id == 4 ? 100 : 10;
    reader.pool = 0;
    add(it, reader);
  }
  it.settle();
  CHECK_THAT(*it.floor(4), WithinAbs(2.5, 1e-9));
  CHECK(*it.rate(4) >= 2.5);
  REQUIRE(it.remove(1));
  it.settle();
  CHECK(*it.rate(4) >= 1000.0 / 3 / 100);
}

TEST_CASE("a node with slower cores needs more cores") {
  ClusterSolver it = solver({{8, 0}, {8, 0}});
  ClusterJob slow = job(1, {0, 1}, 8);
  slow.parts[1].core_factor = 2;
  add(it, slow);
  it.settle();
  CHECK_THAT(*it.rate(1), WithinAbs(50, 100 * kBand));
}

TEST_CASE("a node without loader cores serves jobs that need none") {
  for (const Policy objective :
       {Policy::kThroughput, Policy::kFair, Policy::kMaxMin}) {
    ClusterSolver it = solver({{0, 0}, {8, 0}}, {}, objective);
    add(it, job(1, {0, 1}, 4));
    add(it, job(2, {0, 1}, 0));
    add(it, job(3, {1}, 4));
    it.settle();
    CHECK(*it.rate(1) == 0);
    CHECK(*it.rate(2) == 100);
    CHECK(*it.rate(3) == 100);
  }
}

TEST_CASE("the ingest limit applies to one node, not to the cluster") {
  ClusterSolver it = solver({{8, 1000}, {8, 0}});
  for (int node : {0, 1}) {
    ClusterJob reader = job(node + 1, {node}, 1);
    reader.bytes_per_sample = 20;
    add(it, reader);
  }
  it.settle();
  CHECK_THAT(*it.rate(1), WithinAbs(50, 100 * kBand));
  CHECK(*it.rate(2) == 100);
}

TEST_CASE("fair divides by weight, max-min evenly") {
  for (const Policy objective : {Policy::kFair, Policy::kMaxMin}) {
    ClusterSolver it = solver({{4, 0}}, {}, objective);
    ClusterJob heavy = job(1, {0}, 8);
    heavy.weight = 3;
    add(it, heavy);
    add(it, job(2, {0}, 8));
    it.settle();
    const bool is_fair = objective == Policy::kFair;
    CHECK_THAT(*it.rate(1), WithinAbs(is_fair ? 37.5 : 25, 100 * kBand));
    CHECK_THAT(*it.rate(2), WithinAbs(is_fair ? 12.5 : 25, 100 * kBand));
  }
}

TEST_CASE("a change reports each job with a new rate once") {
  ClusterSolver it = solver({{8, 0}, {4, 0}});
  add(it, job(1, {0}, 4));
  add(it, job(2, {1}, 4));
  it.settle();
  CHECK(it.take_changes().size() == 2);
  it.settle();
  CHECK(it.take_changes().empty());
  add(it, job(3, {1}, 4, 2));
  it.settle();
  for (const ClusterGrant& grant : it.take_changes()) {
    CHECK(grant.id != 1);  // on another node, untouched
    CHECK(grant.rate == *it.rate(grant.id));
  }
}

TEST_CASE("an added job with a zero rate is reported too") {
  ClusterSolver it = solver({{0, 0}});
  add(it, job(1, {0}, 4));
  it.settle();
  const std::vector<ClusterGrant> changes = it.take_changes();
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].id == 1);
  CHECK(changes[0].rate == 0);
}

TEST_CASE("the same calls give the same rates") {
  const auto run = [] {
    ClusterSolver it = solver({{8, 0}, {8, 0}, {8, 0}}, {5000});
    std::vector<double> rates;
    for (uint64_t id = 1; id <= 30; ++id) {
      const int node = static_cast<int>(id % 3);
      ClusterJob one = job(id, {node, (node + 1) % 3}, 1 + id % 5);
      one.bytes_per_sample = static_cast<double>(id % 4);
      one.pool = 0;
      add(it, one);
      it.settle();
      if (id > 20) REQUIRE(it.remove(id - 20));
      it.settle();
      rates.push_back(*it.rate(id));
    }
    return rates;
  };
  CHECK(run() == run());
}

TEST_CASE("an invalid cluster is refused with the name of its fault") {
  const double nan = std::nan("");
  const struct {
    std::vector<ClusterNode> nodes;
    std::vector<double> pools;
    const char* message;
  } cases[] = {
      {{{1, 0}, {-1, 0}}, {}, "nodes[1]: cores is -1"},
      {{{1, nan}}, {}, "nodes[0]: ingest_bytes_per_s is nan"},
      {{{1, 0}}, {5, 0}, "pools[1] is 0"},
  };
  for (const auto& it : cases) {
    const auto solver =
        ClusterSolver::create(it.nodes, it.pools, Policy::kFair);
    REQUIRE(!solver);
    CHECK(solver.error().code == Code::kInvalidArgument);
    CHECK_THAT(solver.error().message, ContainsSubstring(it.message));
  }
}

TEST_CASE(
    "an invalid job is refused with the name of its fault and changes "
    "nothing") {
  ClusterSolver it = solver({{8, 0}, {8, 0}}, {1000});
  add(it, job(1, {0}, 4, 6));
  it.settle();
  const auto with = [](auto change) {
    ClusterJob bad = job(7, {0, 1}, 4);
    change(bad);
    return bad;
  };
  const struct {
    ClusterJob job;
    Code code;
    const char* message;
  } cases[] = {
      {job(1, {0}, 4), Code::kInvalidArgument, "job 1: is there already"},
      {with([](auto& j) { j.weight = 0; }), Code::kInvalidArgument,
       "job 7: weight is 0"},
      {with([](auto& j) { j.ceiling = -1; }), Code::kInvalidArgument,
       "job 7: ceiling is -1"},
      {with([](auto& j) { j.bytes_per_sample = std::nan(""); }),
       Code::kInvalidArgument, "job 7: bytes_per_sample is nan"},
      {with([](auto& j) { j.max_cores_per_rank = -2; }), Code::kInvalidArgument,
       "job 7: max_cores_per_rank is -2"},
      {with([](auto& j) { j.pool = 1; }), Code::kInvalidArgument,
       "job 7: pool is 1, there are 1 pools"},
      {with([](auto& j) { j.parts.clear(); }), Code::kInvalidArgument,
       "job 7: has no parts"},
      {with([](auto& j) { j.parts[1].node = 2; }), Code::kInvalidArgument,
       "job 7: a part's node is 2, there are 2"},
      {with([](auto& j) { j.parts[1].node = 0; }), Code::kInvalidArgument,
       "job 7: names node 0 twice"},
      {with([](auto& j) { j.parts[1].ranks = 0; }), Code::kInvalidArgument,
       "job 7: node 1: ranks is 0"},
      {with([](auto& j) { j.parts[1].core_factor = 0; }),
       Code::kInvalidArgument, "job 7: node 1: core_factor is 0"},
      {with([](auto& j) { j.parts[1].entitled_cores = -1; }),
       Code::kInvalidArgument, "job 7: node 1: entitled_cores is -1"},
      {with([](auto& j) {
         j.cores_curve = {{100, 4}, {50, 5}};
       }),
       Code::kInvalidArgument, "job 7: cores_curve[1]"},
      {with([](auto& j) { j.cores_curve = {}; }), Code::kInvalidArgument,
       "job 7: cores_curve has no point"},
      {with([](auto& j) { j.parts[0].entitled_cores = 3; }), Code::kInfeasible,
       "node 0 has 8 loader cores: with job 7 its jobs would be entitled to 9"},
  };
  for (const auto& bad : cases) {
    const Status status = it.add(bad.job);
    INFO(bad.message);
    REQUIRE(!status);
    CHECK(status.error().code == bad.code);
    CHECK_THAT(status.error().message, ContainsSubstring(bad.message));
  }
  CHECK(it.remove(7).error().code == Code::kNotFound);
  CHECK(it.rate(7).error().code == Code::kNotFound);
  CHECK(it.floor(7).error().code == Code::kNotFound);
  it.settle();
  CHECK(*it.rate(1) == 100);
  CHECK(it.take_changes().size() == 1);
}

}  // namespace
}  // namespace penstock::allocator
