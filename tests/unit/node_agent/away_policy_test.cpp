#include "node_agent/plan/away_policy.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

constexpr double kTick = 20;

// A borrower with units on one home CPU and a lender's CPU 0, whose owner uses
// busy (0..1) of it; away units share what is left.
struct Simulation {
  explicit Simulation(int count, bool in_order = false) {
    for (int i = 0; i < count; ++i) {
      UnitObservation unit;
      unit.id = 100 + i;
      unit.in_order = in_order;
      units.push_back(unit);
    }
  }

  // The first `working` units work, the others are parked.
  AwayMoves step(double busy, size_t working = SIZE_MAX) {
    AwayInput input;
    now_ms += kTick;
    input.now_ms = now_ms;
    input.tick_ms = kTick;
    input.lent = lent;
    input.home_cores = home_cores;
    input.away_cores = away_cores;
    const double away = double(away_count());
    for (UnitObservation& unit : units) {
      const double share = unit.away
                               ? (1 - busy) / std::max(1.0, away)
                               : 1 / std::max(1.0, double(units.size()) - away);
      unit.runnable = size_t(unit.id - 100) < working;
      unit.run_ms = unit.runnable ? share * kTick : 0;
    }
    input.units = units;
    // As in the kernel: idle time is the unused time.
    input.idle_share_of_cpu[0] = away > 0 ? 0 : 1 - busy;
    AwayMoves moves = policy.decide(input);
    for (UnitObservation& unit : units) {
      auto has = [&](const std::vector<int>& ids) {
        return std::find(ids.begin(), ids.end(), unit.id) != ids.end();
      };
      if (has(moves.bring_home)) unit.away = false;
      if (has(moves.send_away)) unit.away = true;
    }
    return moves;
  }

  size_t away_count() const {
    return size_t(std::count_if(units.begin(), units.end(),
                                [](const auto& unit) { return unit.away; }));
  }

  AwayPolicy policy;
  std::vector<UnitObservation> units;
  CpuSet lent{{0}};
  double home_cores = 1;
  double away_cores = 0.67;
  double now_ms = 0;
};

}  // namespace

TEST_CASE(
    "units are divided between home and away in proportion to the cores") {
  Simulation two(2);
  two.step(0.33);
  CHECK(two.away_count() == 1);
  Simulation eight(8);
  eight.step(0.33);
  CHECK(eight.away_count() == 3);
  Simulation one(1);
  one.step(0.33);
  CHECK(one.away_count() == 0);  // it has a whole CPU at home
}

TEST_CASE("one unit stays if fewer cores are lent than the units use at home") {
  Simulation crowded(3);
  crowded.home_cores = 0.05;
  crowded.away_cores = 0.3;
  crowded.step(0.33);
  CHECK(crowded.away_count() == 2);
}

namespace {

// Three units of a job whose trainer uses nearly all home cores.
struct Crowded {
  explicit Crowded(double away_cores) {
    input.lent = CpuSet{{0}};
    input.home_cores = 0.05;
    input.away_cores = away_cores;
    input.units.resize(3);
    for (int i = 0; i < 3; ++i) input.units[size_t(i)].id = i + 1;
  }
  // Number of units sent away in a tick; each unit at home runs for home_ms.
  size_t sent(double home_ms) {
    input.now_ms += kTick;
    for (UnitObservation& unit : input.units) {
      unit.run_ms = unit.away ? 0 : home_ms;
    }
    const AwayMoves moves = policy.decide(input);
    for (int id : moves.send_away) input.units[size_t(id) - 1].away = true;
    input.tick_ms = kTick;
    return moves.send_away.size();
  }

  AwayPolicy policy;
  AwayInput input;
};

}  // namespace

TEST_CASE("one tick of sleep at home does not send all units away") {
  Crowded job(0.3);
  REQUIRE(job.sent(0) == 2);
  for (int tick = 0; tick < 20; ++tick) {
    CHECK(job.sent(tick % 5 == 4 ? 0 : 0.9 * kTick) == 0);
  }
}

TEST_CASE("one unit stays until a tick has measured the CPU time at home") {
  Crowded job(0.9);
  CHECK(job.sent(0) == 2);
  CHECK(job.sent(0.5 * kTick) == 1);
}

TEST_CASE(
    "all units go away if the trainer uses the home cores, and return on "
    "recall") {
  const int count = GENERATE(1, 2, 3);
  Simulation crowded(count);
  crowded.home_cores = 0.05;
  crowded.away_cores = 1;
  crowded.step(0.33);
  CHECK(crowded.away_count() == size_t(count));
  for (int i = 0; i < 10; ++i) crowded.step(1);  // its owner needs the CPU
  CHECK(crowded.away_count() == 0);
}

TEST_CASE("a CPU that its lender needs is recalled within 60 ms") {
  Simulation job(2);
  job.step(0.0);
  REQUIRE(job.away_count() == 1);
  const double wanted_ms = job.now_ms;
  AwayMoves moves;
  for (int i = 0; i < 5 && !moves.recalled_after_ms; ++i) moves = job.step(1.0);
  REQUIRE(moves.recalled_after_ms.has_value());
  CHECK(job.now_ms - wanted_ms <= 60);
  CHECK(job.away_count() == 0);
  CHECK(moves.usable.empty());
}

TEST_CASE("a CPU that its lender half uses is not recalled") {
  Simulation job(2);
  for (int i = 0; i < 100; ++i) {
    CHECK_FALSE(job.step(0.5).recalled_after_ms.has_value());
  }
  CHECK(job.away_count() == 1);
}

namespace {

// True if the lent CPU is recalled within ten ticks of this away unit.
bool is_recalled(double run_ms, bool runnable, double idle_share) {
  Simulation job(2);
  job.step(0.0);
  AwayInput input;
  input.tick_ms = kTick;
  input.lent = job.lent;
  input.home_cores = 1;
  input.away_cores = 0.67;
  input.idle_share_of_cpu[0] = idle_share;
  input.units = job.units;
  for (auto& unit : input.units) {
    unit.run_ms = run_ms;
    unit.runnable = runnable;
  }
  bool recalled = false;
  for (int i = 0; i < 10; ++i) {
    input.now_ms = job.now_ms + i * kTick;
    recalled |= job.policy.decide(input).recalled_after_ms.has_value();
  }
  return recalled;
}

}  // namespace

TEST_CASE("an away unit without work does not count as starved") {
  CHECK_FALSE(is_recalled(0, false, 0));
  CHECK(is_recalled(0, true, 0));
}

TEST_CASE("a unit that just woke up on an idle CPU does not count as starved") {
  CHECK_FALSE(is_recalled(0.5, true, 0.95));
  CHECK(is_recalled(0.5, true, 0.05));
}

TEST_CASE("a returned CPU is borrowed again only once it is idle") {
  Simulation job(2);
  job.step(0.0);
  for (int i = 0; i < 5; ++i) job.step(1.0);
  REQUIRE(job.away_count() == 0);
  for (int i = 0; i < 20; ++i) job.step(0.8);  // idles too little
  CHECK(job.away_count() == 0);
  for (int i = 0; i < 4; ++i) job.step(0.0);
  CHECK(job.away_count() == 1);
}

TEST_CASE("in-order workers take turns away, other units keep their places") {
  Simulation workers(2, true);
  Simulation threads(2, false);
  int worker_moves = 0, thread_moves = 0;
  for (int i = 0; i < 100; ++i) {
    worker_moves += int(workers.step(0.33).send_away.size());
    thread_moves += int(threads.step(0.33).send_away.size());
    CHECK(workers.away_count() == 1);
  }
  // 2 s in turns of 200 ms.
  CHECK(worker_moves >= 8);
  CHECK(worker_moves <= 11);
  CHECK(thread_moves == 1);
}

TEST_CASE("parked workers stay at home and take no turns") {
  Simulation loan(4, true);
  std::set<int> gone;
  for (int tick = 0; tick < 200; ++tick) {
    const AwayMoves moves = loan.step(0, 2);
    if (tick < 60) continue;
    gone.insert(moves.send_away.begin(), moves.send_away.end());
    CHECK_FALSE(loan.units[2].away);
    CHECK_FALSE(loan.units[3].away);
    CHECK(loan.away_count() == 1);
  }
  CHECK(gone == std::set<int>{100, 101});
}

TEST_CASE("all units come home when the loan ends") {
  Simulation job(4);
  job.step(0.1);
  REQUIRE(job.away_count() > 0);
  job.lent = CpuSet();
  job.step(0.1);
  CHECK(job.away_count() == 0);
}

// CPUs 0 to 3 on two cores, all lent; a unit that computes on CPU 1, and how
// busy each CPU is.
static AwayInput on_two_cores(double now_ms, std::map<int, double> busy) {
  AwayInput input;
  input.now_ms = now_ms;
  input.tick_ms = kTick;
  input.lent = CpuSet({0, 1, 2, 3});
  input.core_of_cpu = {0, 0, 1, 1};
  input.home_cores = 1;
  input.away_cores = 1;
  UnitObservation home, away;
  home.id = 100;
  away.id = 101;
  away.away = away.runnable = true;
  away.cpu = 1;
  away.run_ms = busy[1] * kTick;
  input.units = {home, away};
  for (int cpu = 0; cpu < 4; ++cpu)
    input.idle_share_of_cpu[cpu] = 1 - busy[cpu];
  return input;
}

TEST_CASE("the CPUs of a core are returned together and borrowed together") {
  AwayPolicy policy;
  CHECK(policy.decide(on_two_cores(20, {{1, 1}})).usable.size() == 4);
  AwayMoves moves;
  double now_ms = 20;
  while (!moves.recalled_after_ms && now_ms < 200) {
    AwayInput input = on_two_cores(now_ms += kTick, {{1, 1}});
    input.units[1].run_ms = 0;  // its owner has CPU 1
    moves = policy.decide(input);
  }
  CHECK(moves.recalled_after_ms == 40);
  CHECK(moves.usable == CpuSet({2, 3}));
  // Usable again once both hardware threads are idle, not one.
  for (int i = 0; i < 9; ++i) {
    moves = policy.decide(on_two_cores(now_ms += kTick, {{i % 2, 1}}));
    CHECK(moves.usable == CpuSet({2, 3}));
  }
  for (int i = 0; i < 2; ++i) {
    moves = policy.decide(on_two_cores(now_ms += kTick, {}));
    CHECK(moves.usable == CpuSet({2, 3}));
  }
  moves = policy.decide(on_two_cores(now_ms += kTick, {}));
  CHECK(moves.usable.size() == 4);
}

TEST_CASE("a guest's units are always away, its CPUs come and go") {
  AwayPolicy policy;
  AwayInput input;
  input.all_away = true;
  input.tick_ms = kTick;
  input.lent = CpuSet({0, 1});
  input.units = {{.id = 7},
                 {.id = 8, .away = true, .runnable = true, .cpu = 0}};
  std::optional<double> recalled_ms;
  AwayMoves moves;
  for (int tick = 0; tick < 3; ++tick) {
    input.now_ms += kTick;
    input.idle_share_of_cpu = {{0, 0}, {1, 1}};
    moves = policy.decide(input);
    CHECK(moves.send_away == std::vector{7});
    CHECK(moves.bring_home.empty());
    if (moves.recalled_after_ms) recalled_ms = moves.recalled_after_ms;
  }
  REQUIRE(recalled_ms);
  CHECK(*recalled_ms <= 60);
  CHECK(moves.usable == CpuSet({1}));
  input.units[1].cpu = 1;
  input.units[1].run_ms = kTick;
  input.idle_share_of_cpu = {{0, 1}, {1, 0}};
  for (int tick = 0; tick < 3; ++tick) moves = policy.decide(input);
  CHECK(moves.usable == CpuSet({0, 1}));
}
