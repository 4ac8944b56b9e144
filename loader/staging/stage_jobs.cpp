#include "loader/staging/stage_jobs.h"

#include <array>

#include "loader/cache/fault_point.h"

namespace penstock {

StageWindow StageJobs::window() const {
  std::array<StagePlace, kStageConsumers> active;
  size_t count = 0;
  for (uint32_t i = 0; i < kStageConsumers; ++i) {
    const StageConsumer& job = file_.consumer(i);
    const ConsumerWord word = ConsumerWord::of(job.word);
    if (word.state != ConsumerWord::State::kActive) continue;
    active[count++] = {word.next, job.end};
    fault_point("looked at a job");
  }
  return stage_window({active.data(), count}, file_.shape().window);
}

uint64_t StageJobs::active() const {
  uint64_t active = 0;
  for (uint32_t i = 0; i < kStageConsumers; ++i) {
    const ConsumerWord word = ConsumerWord::of(file_.consumer(i).word);
    active += word.state == ConsumerWord::State::kActive ? 1 : 0;
  }
  return active;
}

uint64_t StageJobs::newest() const {
  const uint32_t window = file_.shape().window;
  uint64_t newest = file_.header().floor;
  for (uint32_t i = 0; i < window; ++i) {
    const StageWord word = StageWord::of(file_.slot(i).word);
    fault_point("looked for the newest");
    if (word.state == StageWord::State::kUnused) continue;
    newest = std::max(newest, batch_of(word, i, window) + 1);
  }
  return newest;
}

void StageJobs::raise_floor(uint64_t batch) const {
  std::atomic<uint64_t>& floor = file_.header().floor;
  uint64_t now = floor;
  while (now < batch && !floor.compare_exchange_weak(now, batch)) {
  }
  fault_point("raised the floor");
}

bool StageJobs::is_held(uint32_t buffer) const {
  for (uint32_t i = 0; i < kStageConsumers; ++i) {
    const StageConsumer& job = file_.consumer(i);
    if (job.held != uint64_t{buffer} + 1) continue;
    fault_point("found it held");
    const ConsumerWord word = ConsumerWord::of(job.word);
    if (word.state != ConsumerWord::State::kFree &&
        !file_.has_ended(word.member, word.generation)) {
      return true;
    }
  }
  return false;
}

bool StageJobs::is_placed(uint32_t buffer) const {
  for (uint32_t i = 0; i < file_.shape().window; ++i) {
    if (StageWord::of(file_.slot(i).word).buffer == buffer) return true;
    fault_point("looked where it is placed");
  }
  return false;
}

bool StageJobs::drop_ended() const {
  bool has_dropped = false;
  for (uint32_t i = 0; i < kStageConsumers; ++i) {
    StageConsumer& job = file_.consumer(i);
    uint64_t packed = job.word;
    const ConsumerWord word = ConsumerWord::of(packed);
    if (word.state == ConsumerWord::State::kFree ||
        !file_.has_ended(word.member, word.generation)) {
      continue;
    }
    fault_point("dropping a job");
    if (job.word.compare_exchange_strong(packed, 0)) has_dropped = true;
  }
  if (has_dropped) file_.header().room.notify_all();
  return has_dropped;
}

}  // namespace penstock
