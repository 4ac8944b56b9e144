#include "node_agent/away_policy.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// The lent CPUs by physical core; one of which nothing is known is a core.
std::map<int, std::vector<int>> cores_lent(const AwayInput& input) {
  std::map<int, std::vector<int>> cores;
  for (int cpu : input.lent.cpus()) {
    const bool is_known = size_t(cpu) < input.core_of_cpu.size() &&
                          input.core_of_cpu[size_t(cpu)] >= 0;
    cores[is_known ? input.core_of_cpu[size_t(cpu)] : -1 - cpu].push_back(cpu);
  }
  return cores;
}

// 1 where it is not known: no idle CPU is told apart.
double busy_share(const AwayInput& input, int cpu) {
  const auto idle = input.idle_share_of_cpu.find(cpu);
  return idle == input.idle_share_of_cpu.end() ? 1 : 1 - idle->second;
}

size_t away_units_wanted(const AwayInput& input, size_t usable_cpus) {
  const size_t units = input.units.size();
  if (usable_cpus == 0 || units < 2) return 0;
  const double per_cpu = input.away_cores / double(input.lent.size());
  const double away = per_cpu * double(usable_cpus);
  const double home = std::max(input.home_cores, 0.05);
  const auto wanted = size_t(std::lround(double(units) * away / (home + away)));
  return std::clamp<size_t>(wanted, 1, units - 1);
}

}  // namespace

struct AwayPolicy::CpuLoad {
  bool has_away = false;
  bool runnable = false;  // some away unit wants to run
  double run_ms = 0;
};

std::map<int, AwayPolicy::CpuLoad> AwayPolicy::away_load(
    const AwayInput& input) {
  std::map<int, CpuLoad> load;
  for (const UnitObservation& unit : input.units) {
    if (!unit.away) continue;
    const int cpu =
        input.lent.size() == 1 ? input.lent.cpus().front() : unit.cpu;
    CpuLoad& entry = load[cpu];
    entry.has_away = true;
    entry.run_ms += unit.run_ms;
    entry.runnable = entry.runnable || unit.runnable;
  }
  return load;
}

void AwayPolicy::watch_cpus(const AwayInput& input,
                            std::map<int, CpuLoad>& load, AwayMoves& moves) {
  std::erase_if(cpus_, [&](const auto& entry) {
    return !input.lent.contains(entry.first);
  });
  for (int cpu : input.lent.cpus()) {
    CpuState& state = cpus_[cpu];
    const CpuLoad& here = load[cpu];
    const bool idles = 1 - busy_share(input, cpu) >= kIdleShare;
    if (state.wanted) {
      state.idle_ms = idles ? state.idle_ms + input.tick_ms : 0;
      if (state.idle_ms >= kIdleMs) state = CpuState{};
    } else {
      const bool starved = here.has_away && here.runnable && !idles &&
                           here.run_ms <= kStarvedShare * input.tick_ms;
      state.starved_ms = starved ? state.starved_ms + input.tick_ms : 0;
      if (state.starved_ms >= kStarvedMs) {
        moves.recalled_after_ms =
            std::max(moves.recalled_after_ms.value_or(0), state.starved_ms);
        state = CpuState{.wanted = true};
      }
    }
  }
}

void AwayPolicy::watch_cores(const AwayInput& input,
                             std::map<int, CpuLoad>& load, AwayMoves& moves) {
  const auto lent = cores_lent(input);
  std::erase_if(cores_,
                [&](const auto& entry) { return !lent.contains(entry.first); });
  for (const auto& [core, cpus] : lent) {
    if (cpus.size() == 1) continue;
    bool has_away = false;
    double others_ms = 0;
    for (int cpu : cpus) {
      has_away = has_away || load[cpu].has_away;
      others_ms += busy_share(input, cpu) * input.tick_ms - load[cpu].run_ms;
    }
    CoreState& state = cores_[core];
    if (!has_away || input.idle_share_of_cpu.empty()) {
      state = CoreState{};
      continue;
    }
    state.watched_ms += input.tick_ms;
    state.others_ms += others_ms;
    if (state.watched_ms < kNeighbourMs) continue;
    if (state.others_ms >= kNeighbourShare * state.watched_ms) {
      moves.recalled_after_ms =
          std::max(moves.recalled_after_ms.value_or(0), state.watched_ms);
      for (int cpu : cpus) cpus_[cpu] = CpuState{.wanted = true};
    }
    state = CoreState{};
  }
}

CpuSet AwayPolicy::usable_cpus(const AwayInput& input) {
  std::vector<int> usable;
  for (const auto& [core, cpus] : cores_lent(input)) {
    const bool is_wanted = std::any_of(
        cpus.begin(), cpus.end(), [&](int cpu) { return cpus_[cpu].wanted; });
    if (!is_wanted) usable.insert(usable.end(), cpus.begin(), cpus.end());
  }
  return CpuSet(std::move(usable));
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
  const size_t wanted = away_units_wanted(input, moves.usable.size());
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

AwayMoves AwayPolicy::decide(const AwayInput& input) {
  AwayMoves moves;
  std::map<int, CpuLoad> load = away_load(input);
  watch_cpus(input, load, moves);
  watch_cores(input, load, moves);
  moves.usable = usable_cpus(input);
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
