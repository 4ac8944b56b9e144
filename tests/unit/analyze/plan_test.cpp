#include "tools/analyze/plan.h"

#include <algorithm>
#include <cmath>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

// A job whose loader prepares 1000 samples per core and second, with storage
// of `fetch` samples/s and a ceiling.
struct Job {
  double ceiling = 1200;
  double fetch = 5000;
  bool has_quota = true;
  bool has_affinity = false;  // whole CPUs instead of a quota

  Visit visit(const AnalysisCell& cell, double cpus) const {
    double rate = cell.data == AnalysisFeed::kReplay
                      ? ceiling
                      : 1000 * cell.cores.value_or(cpus);
    if (cell.data == AnalysisFeed::kCold) rate = std::min(rate, fetch);
    if (cell.bytes_per_s && has_quota) {
      rate = std::min(rate, *cell.bytes_per_s / 100);
    }
    if (cell.train) rate = std::min(rate, ceiling);
    RankVisit seen;
    seen.end_ns = 1'000'000'000;
    seen.samples = rate;
    seen.consumed_bytes = rate * 100;
    Visit out{cell, {{0, seen}}, {}};
    if (cell.cores && has_quota) out.limits.cores_by = "quota";
    if (cell.cores && has_affinity && *cell.cores == std::floor(*cell.cores)) {
      out.limits.cores_by = "affinity";
    }
    if (cell.bytes_per_s && has_quota) out.limits.bytes_per_s_by = "kernel";
    out.limits.why = has_quota ? "" : "no penstockd";
    return out;
  }
};

// Runs until the plan is complete; returns the number of visits.
size_t run(AnalysisPlan& plan, const Job& job) {
  size_t visits = 0;
  while (const auto kind = plan.next()) {
    REQUIRE(visits < 1000);
    ++visits;
    plan.add(*kind, job.visit(plan.kinds()[*kind].cell, plan.facts().cpus));
  }
  return visits;
}

const CellKind* kind_of(const AnalysisPlan& plan, CellRole role) {
  for (const CellKind& kind : plan.kinds()) {
    if (kind.role == role) return &kind;
  }
  return nullptr;
}

PlanFacts facts(double cpus) {
  PlanFacts it;
  it.cpus = cpus;
  return it;
}

}  // namespace

TEST_CASE(
    "default amounts of cores are parts of all, whole amounts are whole CPUs") {
  CHECK(default_amounts(2) == std::vector<double>{0.25, 0.75, 1.25, 2});
  CHECK(default_amounts(24) == std::vector<double>{3, 9, 15, 24});
  CHECK(default_amounts(1).front() == Approx(0.13));
  CHECK(whole_amounts(1).empty());
  CHECK(whole_amounts(2) == std::vector<double>{1});
  CHECK(whole_amounts(8) == std::vector<double>{2, 4, 6});
}

TEST_CASE("a job without noise is measured three times in each cell") {
  AnalysisPlan plan(facts(2));
  const size_t visits = run(plan, Job{});
  CHECK(plan.widest() == 0);
  for (const CellKind& kind : plan.kinds()) CHECK(kind.visits.size() == 3);
  CHECK(visits == 3 * plan.kinds().size());
  // With these cores the loader prepares as much as the ceiling takes.
  const CellKind* corner = kind_of(plan, CellRole::kCeilingCorner);
  REQUIRE(corner);
  CHECK(corner->cell.cores == Approx(1.2));
}

TEST_CASE("each round reverses the order of the cells") {
  AnalysisPlan plan(facts(2));
  std::vector<size_t> order;
  for (int i = 0; i < 8; ++i) {
    const size_t kind = *plan.next();
    order.push_back(kind);
    plan.add(kind, Job{}.visit(plan.kinds()[kind].cell, 2));
  }
  CHECK(std::is_sorted(order.begin(), order.begin() + 7));
  CHECK(plan.rounds() == 2);
  CHECK(order[7] > order[0]);
}

TEST_CASE("storage faster than the loader is limited to the loader's rate") {
  AnalysisPlan plan(facts(2));
  run(plan, Job{});
  const CellKind* corner = kind_of(plan, CellRole::kStorageCorner);
  REQUIRE(corner);
  CHECK(corner->cell.bytes_per_s == Approx(200'000));
}

TEST_CASE("a loader faster than storage is limited in cores") {
  AnalysisPlan plan(facts(2));
  run(plan, Job{1200, 500});
  const CellKind* corner = kind_of(plan, CellRole::kStorageCorner);
  REQUIRE(corner);
  CHECK_FALSE(corner->cell.bytes_per_s);
  CHECK(corner->cell.cores == Approx(0.5));
}

TEST_CASE("without a quota whole CPUs are tried once") {
  AnalysisPlan plan(facts(4));
  Job job;
  job.has_quota = false;
  run(plan, job);
  size_t dropped = 0;
  for (const CellKind& kind : plan.kinds()) {
    if (kind.dropped == "no penstockd") ++dropped;
  }
  // Three parts of the CPUs, one, two and three CPUs, and bandwidths.
  CHECK(dropped >= 6);
  CHECK(plan.widest() == 0);
  // All cores need no limit.
  CHECK(kind_of(plan, CellRole::kPrep)->dropped.empty());
}

TEST_CASE("requested amounts are sorted, and all cores are added") {
  PlanFacts asked = facts(4);
  asked.amounts = {16, 2, 1, 8, 2};
  const AnalysisPlan plan(asked);
  CHECK(plan.facts().amounts == std::vector<double>{1, 2, 4});
  CHECK(plan.left_out() == std::vector<double>{8, 16});
}

TEST_CASE("no amount is measured twice when whole CPUs are added") {
  PlanFacts asked = facts(4);
  asked.amounts = {0.5, 1, 2};
  AnalysisPlan plan(asked);
  Job job;
  job.has_quota = false;
  job.has_affinity = true;
  run(plan, job);
  std::vector<double> amounts;
  for (const CellKind& kind : plan.kinds()) {
    if (kind.role == CellRole::kPrep && !kind.visits.empty()) {
      amounts.push_back(kind.cell.cores.value_or(4));
    }
  }
  std::sort(amounts.begin(), amounts.end());
  CHECK(amounts == std::vector<double>{1, 2, 3, 4});
  // The corner, too, is measured on whole CPUs.
  const auto corner = std::find_if(
      plan.kinds().begin(), plan.kinds().end(), [](const CellKind& kind) {
        return kind.role == CellRole::kCeilingCorner && !kind.visits.empty();
      });
  REQUIRE(corner != plan.kinds().end());
  CHECK(corner->cell.cores == 1);
}

TEST_CASE("a limit that is refused once is requested again") {
  AnalysisPlan plan(facts(2));
  Job away;
  away.has_quota = false;
  size_t kind = *plan.next();
  while (!plan.kinds()[kind].cell.cores) kind = *plan.next();
  plan.add(kind, away.visit(plan.kinds()[kind].cell, 2));
  CHECK(plan.kinds()[kind].dropped.empty());
  run(plan, Job{});
  CHECK(plan.kinds()[kind].visits.size() == 3);
}

TEST_CASE("slowness alone does not request whole CPUs") {
  AnalysisPlan plan(facts(4));
  size_t kind = *plan.next();
  while (!plan.kinds()[kind].cell.cores) kind = *plan.next();
  const size_t before = plan.kinds().size();
  plan.drop(kind, "too slow");
  CHECK(plan.kinds().size() == before);
}

TEST_CASE(
    "a limit that was reported as kept but was not gives no measurement") {
  AnalysisPlan plan(facts(2));
  size_t kind = *plan.next();
  while (!plan.kinds()[kind].cell.cores) kind = *plan.next();
  Visit visit = Job{}.visit(plan.kinds()[kind].cell, 2);
  visit.ranks.at(0).cpu_s = 2;  // of one second
  plan.add(kind, visit);
  CHECK(plan.kinds()[kind].visits.empty());
  CHECK(plan.kinds()[kind].dropped.empty());  // lifted by a new penstockd?
  plan.add(kind, visit);
  CHECK(plan.kinds()[kind].visits.empty());
  CHECK_THAT(plan.kinds()[kind].dropped,
             Catch::Matchers::ContainsSubstring("did not keep it"));
  // A restarted penstockd forgets limits and can set others.
  for (const CellKind& it : plan.kinds()) {
    CHECK((it.cell.cores.value_or(0.5) != 1 || it.role != CellRole::kPrep));
  }
}

TEST_CASE("a loader is not asked for unsupported limits") {
  PlanFacts no_memory = facts(2);
  no_memory.can_memory = false;
  AnalysisPlan cold(no_memory);
  CHECK_FALSE(kind_of(cold, CellRole::kPrep));
  CHECK_FALSE(kind_of(cold, CellRole::kTrain));
  CHECK(kind_of(cold, CellRole::kFetch));
  PlanFacts no_cold = facts(2);
  no_cold.can_cold = false;
  CHECK_FALSE(kind_of(AnalysisPlan(no_cold), CellRole::kFetch));
}

TEST_CASE("the rate of a cell is that of the slowest rank") {
  CellKind kind;
  RankVisit fast, slow;
  fast.end_ns = slow.end_ns = 1'000'000'000;
  fast.samples = 100;
  slow.samples = 80;
  slow.cpu_s = 4;
  kind.visits.push_back({{}, {{0, fast}, {1, slow}}, {}});
  CHECK(kind.rates() == std::vector<double>{80});
  CHECK(costs_of(kind).cpu_s == Approx(4.0 / 180));
  CHECK(costs_of(CellKind{}).cpu_s == 0);
}

TEST_CASE("ranks of one machine share its CPUs") {
  std::vector<AnalysisHello> hellos(3);
  for (AnalysisHello& hello : hellos) hello.cpus = 8;
  CHECK(cpus_of_local_rank(hellos, 8) == Approx(8.0 / 3));
  // They are bound to fewer CPUs already.
  for (AnalysisHello& hello : hellos) hello.cpus = 2;
  CHECK(cpus_of_local_rank(hellos, 8) == 2);
  hellos.resize(1);
  CHECK(cpus_of_local_rank(hellos, 8) == 2);
}
