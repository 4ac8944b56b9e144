// The control loop that decides which of a borrower's loader units run on lent
// CPUs. It sends units away, and brings them home when the owner wants its CPU.
// Pure: takes observations and the time, returns moves.
//
// Away threads yield to the owner, but that is not enough. Workers that deliver
// batches in order all stall when one of them is frozen behind a busy lender.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "common/units.h"

namespace penstock {

// One loader unit during the last tick.
struct UnitObservation {
  int id = 0;  // the unit's first tid
  bool away = false;
  bool in_order = false;  // a worker process: benefits from taking turns
  double run_ms = 0;      // CPU time of its threads during the tick
  // A thread of the unit is runnable now. The run delay does not show this: the
  // kernel adds a wait only when it ends, and a thread that yields to a busy
  // owner may wait for seconds.
  bool runnable = false;
  int cpu = -1;  // CPU on which it ran last
};

struct AwayInput {
  bool all_away = false;  // a guest's: no unit is ever at home
  double now_ms = 0;
  double tick_ms = 0;     // time since the last call; 0: first call of a loan
  CpuSet lent;            // CPUs lent by the plan
  double home_cores = 0;  // of the loaders, excluding the trainer's
  double away_cores = 0;  // expected from all lent CPUs together
  std::vector<UnitObservation> units;
  std::map<int, double> idle_share_of_cpu;  // 0..1, over the last tick
  // Physical core of each CPU; empty: every CPU is a core.
  std::vector<int> core_of_cpu;
};

struct AwayMoves {
  CpuSet usable;                // lent whole cores that their owners leave idle
  std::vector<int> bring_home;  // unit ids; apply before send_away
  std::vector<int> send_away;
  // Set if a CPU was recalled: the time since its owner wanted it, which is the
  // start of the starving ticks.
  std::optional<double> recalled_after_ms;
};

class AwayPolicy {
 public:
  AwayMoves decide(const AwayInput& all);

  // An owner wants its CPU if runnable away units there get less than
  // kStarvedShare of it for this long, while it is not idle.
  static constexpr double kStarvedMs = 35;
  static constexpr double kStarvedShare = 0.1;
  // A recalled core is used again after each of its CPUs was idle by at least
  // kIdleShare for this long.
  static constexpr double kIdleMs = 55;
  static constexpr double kIdleShare = 0.5;
  // The only unit of a job leaves home only for this many times its home cores:
  // no other unit replaces it while its CPU is recalled.
  static constexpr double kAloneGains = 2;
  // Period at which workers that deliver in order take turns on the lent CPUs.
  static constexpr double kTurnMs = 200;
  // A unit that has neither run nor been runnable for this long is at home.
  static constexpr double kParkedMs = 1000;
  // All units may leave only if the lent CPUs have room for the home units'
  // mean use over this time. A shorter mean would miss workers, or lenders,
  // that sleep through a tick.
  static constexpr double kUseMs = 1000;

 private:
  struct CpuLoad;
  // A core is recalled as a whole: a thread on one sibling slows the other.
  struct CoreState {
    bool wanted = false;               // recalled by its owner: not usable
    std::map<int, double> starved_ms;  // by CPU: how long away units starved
    double idle_ms = 0;  // how long all its CPUs have idled since the recall
  };

  AwayInput without_parked(const AwayInput& all, AwayMoves& moves);
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
  std::map<int, double> active_at_ms_;  // by unit id
  double last_turn_ms_ = 0;
  // Exponential means over about kUseMs, in cores; nullopt: no data yet.
  std::optional<double> home_use_;  // used by the home units
  std::optional<double> room_;  // available to away units on the usable CPUs
};

}  // namespace penstock
