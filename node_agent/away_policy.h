// Which of a borrower's loader units are away now: the closed loop that sends
// them to lent CPUs and brings them home when the owner wants its CPU. Pure:
// observations and time go in, moves come out.
//
// Why it exists although away threads yield: a worker that hands batches out
// in order and is frozen behind a busy lender stalls all the others.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "common/units.h"

namespace penstock {

// One loader unit over the last tick.
struct UnitObservation {
  int id = 0;  // the unit's first tid
  bool away = false;
  bool in_order = false;  // a worker process: gains from taking turns
  double run_ms = 0;      // CPU time of its threads
  // One of its threads wants a CPU at this moment. The run delay would not
  // tell: the kernel counts it when the wait is over, and a thread that yields
  // to a busy owner waits for seconds.
  bool runnable = false;
  int cpu = -1;  // where it ran last
};

struct AwayInput {
  double now_ms = 0;
  double tick_ms = 0;     // time since the last call; 0: the first of a loan
  CpuSet lent;            // by the plan
  double home_cores = 0;  // for loaders, at home, beside the trainer
  double away_cores = 0;  // expected of all lent CPUs together
  std::vector<UnitObservation> units;
  std::map<int, double> idle_share_of_cpu;  // 0..1, over the tick
  // Physical core by CPU; empty: every CPU is one.
  std::vector<int> core_of_cpu;
};

struct AwayMoves {
  CpuSet usable;                // whole cores whose owner leaves them idle
  std::vector<int> bring_home;  // unit ids, to be done first
  std::vector<int> send_away;
  // Set where a CPU was given back: the time from its being wanted (the first
  // moment of the starving ticks) until now.
  std::optional<double> recalled_after_ms;
};

class AwayPolicy {
 public:
  AwayMoves decide(const AwayInput& input);

  // Away units that want to run got under kStarvedShare of a CPU that is not
  // idle for this long: its owner wants it.
  static constexpr double kStarvedMs = 35;
  static constexpr double kStarvedShare = 0.1;
  // A core given back is tried again once each of its CPUs has idled by
  // kIdleShare for this long.
  static constexpr double kIdleMs = 55;
  static constexpr double kIdleShare = 0.5;
  // A job's only unit, which nobody relieves while its CPU is wanted back, goes
  // for so many times the cores that it has at home.
  static constexpr double kAloneGains = 2;
  // Workers that deliver in order take turns on the lent CPUs.
  static constexpr double kTurnMs = 200;
  // All units go where lent CPUs have room for what those at home used for so
  // long: a worker, or a lender, may sleep through a tick.
  static constexpr double kUseMs = 1000;

 private:
  struct CpuLoad;
  // Whoever runs on one half of a core slows the other: it is wanted whole.
  struct CoreState {
    bool wanted = false;               // by its owner: not usable
    std::map<int, double> starved_ms;  // by CPU: how long units have starved
    double idle_ms = 0;  // how long all of it has idled since given back
  };

  static std::map<int, CpuLoad> away_load(const AwayInput& input);
  void watch_cores(const AwayInput& input, AwayMoves& moves);
  static void wait_until_idle(const AwayInput& input,
                              const std::vector<int>& cpus, CoreState& state);
  static void watch_for_starving(const AwayInput& input,
                                 const std::vector<int>& cpus,
                                 const std::map<int, CpuLoad>& load,
                                 CoreState& state, AwayMoves& moves);
  void note_use(const AwayInput& input, const CpuSet& usable);
  size_t units_wanted(const AwayInput& input, size_t usable_cpus) const;
  void place_units(const AwayInput& input, AwayMoves& moves);
  void take_turns(const AwayInput& input, AwayMoves& moves);
  std::vector<const UnitObservation*> longest_first(const AwayInput& input,
                                                    bool away) const;

  std::map<int, CoreState> cores_;
  std::map<int, double> placed_at_ms_;  // by unit id
  double last_turn_ms_ = 0;
  // Means of kUseMs or so, in cores; nullopt: nothing was seen yet.
  std::optional<double> home_use_;  // by the units at home, of home CPUs
  std::optional<double> room_;      // for away units on the usable CPUs
};

}  // namespace penstock
