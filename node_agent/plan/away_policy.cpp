#include "node_agent/plan/away_policy.h"

#include <algorithm>
#include <cmath>

namespace penstock {

struct AwayPolicy::CpuLoad {
  bool runnable = false;  // an away unit is runnable
  double run_ms = 0;
};

std::map<int, AwayPolicy::CpuLoad> AwayPolicy::away_load(
    const AwayInput& input) {
  std::map<int, CpuLoad> load;
  for (const UnitObservation& unit : input.units) {
    if (!unit.away) continue;
    // A guest's may be on its own CPUs, too.
    const bool is_sure = input.lent.size() == 1 && !input.all_away;
    const int cpu = is_sure ? input.lent.cpus().front() : unit.cpu;
    CpuLoad& entry = load[cpu];
    entry.run_ms += unit.run_ms;
    entry.runnable = entry.runnable || unit.runnable;
  }
  return load;
}

namespace {

// The lent CPUs by physical core. An unknown CPU is a core of its own.
std::map<int, std::vector<int>> cores_lent(const AwayInput& input) {
  std::map<int, std::vector<int>> cores;
  for (int cpu : input.lent.cpus()) {
    const bool is_known = size_t(cpu) < input.core_of_cpu.size() &&
                          input.core_of_cpu[size_t(cpu)] >= 0;
    cores[is_known ? input.core_of_cpu[size_t(cpu)] : -1 - cpu].push_back(cpu);
  }
  return cores;
}

bool is_idle(const AwayInput& input, int cpu) {
  const auto idle = input.idle_share_of_cpu.find(cpu);
  return idle != input.idle_share_of_cpu.end() &&
         idle->second >= AwayPolicy::kIdleShare;
}

}  // namespace

void AwayPolicy::note_use(const AwayInput& input, const CpuSet& usable) {
  if (!(input.tick_ms > 0)) return;
  const double part = std::min(1.0, input.tick_ms / kUseMs);
  const auto note = [part](std::optional<double>& mean, double cores) {
    mean = mean ? *mean + part * (cores - *mean) : cores;
  };
  double home_ms = 0, away_ms = 0;
  bool any_at_home = false;
  for (const UnitObservation& unit : input.units) {
    (unit.away ? away_ms : home_ms) += unit.run_ms;
    any_at_home = any_at_home || !unit.away;
  }
  if (any_at_home) note(home_use_, home_ms / input.tick_ms);
  double room = away_ms / input.tick_ms;
  for (int cpu : usable.cpus()) {
    const auto idle = input.idle_share_of_cpu.find(cpu);
    if (idle != input.idle_share_of_cpu.end()) room += idle->second;
  }
  note(room_, room);
}

// All units may go only under two conditions: the trainer leaves them almost no
// home cores, and the lent CPUs have room for the home units' use.
size_t AwayPolicy::units_wanted(const AwayInput& input,
                                size_t usable_cpus) const {
  const size_t units = input.units.size();
  if (usable_cpus == 0 || units == 0) return 0;
  const double per_cpu = input.away_cores / double(input.lent.size());
  const double away = per_cpu * double(usable_cpus);
  const double home = std::max(input.home_cores, 0.05);
  if (units == 1) return away >= AwayPolicy::kAloneGains * home ? 1 : 0;
  const auto wanted = size_t(std::lround(double(units) * away / (home + away)));
  const bool may_all =
      home_use_ && std::max(away, room_.value_or(0)) >= *home_use_;
  return std::clamp<size_t>(wanted, 1, may_all ? units : units - 1);
}

void AwayPolicy::watch_cores(const AwayInput& input, AwayMoves& moves) {
  const auto lent = cores_lent(input);
  std::erase_if(cores_,
                [&](const auto& entry) { return !lent.contains(entry.first); });
  const std::map<int, CpuLoad> load = away_load(input);
  std::vector<int> usable;
  for (const auto& [core, cpus] : lent) {
    CoreState& state = cores_[core];
    if (state.wanted) {
      wait_until_idle(input, cpus, state);
    } else {
      watch_for_starving(input, cpus, load, state, moves);
    }
    if (!state.wanted) usable.insert(usable.end(), cpus.begin(), cpus.end());
  }
  moves.usable = CpuSet(std::move(usable));
}

void AwayPolicy::wait_until_idle(const AwayInput& input,
                                 const std::vector<int>& cpus,
                                 CoreState& state) {
  const bool idles = std::all_of(cpus.begin(), cpus.end(),
                                 [&](int cpu) { return is_idle(input, cpu); });
  state.idle_ms = idles ? state.idle_ms + input.tick_ms : 0;
  if (state.idle_ms >= kIdleMs) state = CoreState{};
}

void AwayPolicy::watch_for_starving(const AwayInput& input,
                                    const std::vector<int>& cpus,
                                    const std::map<int, CpuLoad>& load,
                                    CoreState& state, AwayMoves& moves) {
  for (int cpu : cpus) {
    const auto here = load.find(cpu);
    const bool starved = here != load.end() && here->second.runnable &&
                         !is_idle(input, cpu) &&
                         here->second.run_ms <= kStarvedShare * input.tick_ms;
    double& starved_ms = state.starved_ms[cpu];
    starved_ms = starved ? starved_ms + input.tick_ms : 0;
    if (starved_ms < kStarvedMs) continue;
    moves.recalled_after_ms =
        std::max(moves.recalled_after_ms.value_or(0), starved_ms);
    state = CoreState{};
    state.wanted = true;
    return;
  }
}

std::vector<const UnitObservation*> AwayPolicy::longest_first(
    const AwayInput& input, bool away) const {
  std::vector<const UnitObservation*> units;
  for (const UnitObservation& unit : input.units) {
    if (unit.away == away) units.push_back(&unit);
  }
  auto since = [&](const UnitObservation* unit) {
    const auto placed = placed_at_ms_.find(unit->id);
    return placed == placed_at_ms_.end() ? 0.0 : placed->second;
  };
  std::sort(units.begin(), units.end(), [&](auto* a, auto* b) {
    return std::pair(since(a), a->id) < std::pair(since(b), b->id);
  });
  return units;
}

void AwayPolicy::place_units(const AwayInput& input, AwayMoves& moves) {
  const size_t wanted = units_wanted(input, moves.usable.size());
  const auto away = longest_first(input, true);
  const auto home = longest_first(input, false);
  for (size_t i = 0; i + wanted < away.size(); ++i) {
    moves.bring_home.push_back(away[i]->id);
  }
  for (size_t i = 0; away.size() + i < wanted && i < home.size(); ++i) {
    moves.send_away.push_back(home[i]->id);
  }
}

void AwayPolicy::take_turns(const AwayInput& input, AwayMoves& moves) {
  if (!moves.bring_home.empty() || !moves.send_away.empty()) return;
  if (input.now_ms - last_turn_ms_ < kTurnMs) return;
  const auto away = longest_first(input, true);
  const auto home = longest_first(input, false);
  if (away.empty() || home.empty()) return;
  if (!away.front()->in_order || !home.front()->in_order) return;
  moves.bring_home.push_back(away.front()->id);
  moves.send_away.push_back(home.front()->id);
  last_turn_ms_ = input.now_ms;
}

// Parked units would take the turns of those that work.
AwayInput AwayPolicy::without_parked(const AwayInput& all, AwayMoves& moves) {
  AwayInput input = all;
  std::map<int, double> active_at_ms;
  std::erase_if(input.units, [&](const UnitObservation& unit) {
    const auto known = active_at_ms_.find(unit.id);
    const bool is_active =
        known == active_at_ms_.end() || unit.run_ms > 0 || unit.runnable;
    const double at_ms = is_active ? all.now_ms : known->second;
    active_at_ms[unit.id] = at_ms;
    const bool is_parked = all.now_ms - at_ms >= kParkedMs;
    if (is_parked && unit.away) moves.bring_home.push_back(unit.id);
    return is_parked;
  });
  active_at_ms_ = std::move(active_at_ms);
  return input;
}

AwayMoves AwayPolicy::decide(const AwayInput& all) {
  AwayMoves moves;
  if (all.all_away) {
    watch_cores(all, moves);
    for (const UnitObservation* unit : longest_first(all, false)) {
      moves.send_away.push_back(unit->id);
    }
    return moves;
  }
  const AwayInput input = without_parked(all, moves);
  watch_cores(input, moves);
  note_use(input, moves.usable);
  place_units(input, moves);
  take_turns(input, moves);
  for (int id : moves.bring_home) placed_at_ms_[id] = input.now_ms;
  for (int id : moves.send_away) placed_at_ms_[id] = input.now_ms;
  std::erase_if(placed_at_ms_, [&](const auto& entry) {
    return std::none_of(
        input.units.begin(), input.units.end(),
        [&](const UnitObservation& unit) { return unit.id == entry.first; });
  });
  return moves;
}

}  // namespace penstock
