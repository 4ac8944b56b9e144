#include "loader/staging/stage_rules.h"

namespace penstock {

StageWindow stage_window(std::span<const StagePlace> active, uint32_t window) {
  if (active.empty()) return {};
  uint64_t begin = UINT64_MAX, wanted = 0;
  for (const StagePlace& place : active) {
    begin = std::min(begin, place.next);
    wanted = std::max(wanted, place.end);
  }
  return {begin, std::max(begin, std::min(begin + window, wanted))};
}

SlotRule slot_rule(const StageWord& word, uint64_t batch, uint32_t window) {
  if (word.state == StageWord::State::kUnused) return SlotRule::kFree;
  const uint64_t lap = batch / window;
  if (word.lap > lap) return SlotRule::kDone;
  if (word.state == StageWord::State::kClaimed) return SlotRule::kClaimed;
  if (word.state == StageWord::State::kLeft) return SlotRule::kFree;
  return word.lap == lap ? SlotRule::kDone : SlotRule::kFree;
}

bool could_go_on(const StageWord& word, uint64_t next, uint32_t window) {
  if (word.state == StageWord::State::kUnused) return false;
  const uint64_t lap = next / window;
  return word.lap > lap ||
         (word.lap == lap && word.state == StageWord::State::kReady);
}

}  // namespace penstock
