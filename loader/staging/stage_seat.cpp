#include "loader/staging/stage_seat.h"

#include <algorithm>
#include <string>

#include "loader/cache/fault_point.h"
#include "loader/data/random.h"

namespace penstock {

using State = ConsumerWord::State;

StageSeat::StageSeat(const StageFile& file, OverdueClaims& overdue,
                     const StageTimes& times)
    : file_(file),
      overdue_(overdue),
      times_(times),
      jobs_(file),
      claims_(file.shape().window) {}

uint64_t StageSeat::word(State state, uint64_t next) const {
  return ConsumerWord{state, file_.member(), file_.generation(), next}.packed();
}

Status StageSeat::reserve() {
  (void)jobs_.drop_ended();
  for (uint32_t i = 0; i < kStageConsumers; ++i) {
    uint64_t free = 0;
    fault_point("reserving");
    if (!file_.consumer(i).word.compare_exchange_strong(free,
                                                        word(State::kOut, 0))) {
      continue;
    }
    fault_point("reserved");
    place_ = i;
    own().held = 0;
    own().end = UINT64_MAX;
    return Done{};
  }
  return Error{Code::kLimit, 0,
               file_.path() + ": " + std::to_string(kStageConsumers) +
                   " jobs share it already; share under another name"};
}

// Publishes the entry first and checks it afterwards: a batch that is claimed
// after the store is kept for this job.
uint64_t StageSeat::enter(uint64_t epoch) {
  const uint64_t per_epoch = file_.shape().batches_per_epoch;
  epoch = std::max(epoch, epoch_to_join(jobs_.newest(), per_epoch));
  for (;;) {
    fault_point("entering");
    own().word = word(State::kActive, epoch * per_epoch);
    fault_point("entered");
    const uint64_t found = epoch_to_join(jobs_.newest(), per_epoch);
    if (found <= epoch) break;
    epoch = found;
  }
  next_ = epoch * per_epoch;
  file_.header().room.notify_all();
  return epoch;
}

void StageSeat::set_end(uint64_t batch) {
  own().end = batch;
  file_.header().room.notify_all();
}

bool StageSeat::is_in() const {
  return ConsumerWord::of(own().word).state == State::kActive;
}

StageSeat::Take StageSeat::take(uint32_t& buffer) {
  const uint64_t active = word(State::kActive, next_);
  const uint32_t window = file_.shape().window;
  if (own().word != active) return Take::kOut;
  const StageWord found =
      StageWord::of(file_.slot(static_cast<uint32_t>(next_ % window)).word);
  if (found.state != StageWord::State::kReady || found.lap != next_ / window ||
      !file_.has_buffer(found)) {
    return Take::kNotYet;
  }
  fault_point("taking");
  own().held = uint64_t{found.buffer} + 1;
  fault_point("taken");
  // If the job is still active, a process that expels it later sees `held`.
  if (own().word != active) {
    own().held = 0;
    return Take::kOut;
  }
  buffer = found.buffer;
  return Take::kGot;
}

bool StageSeat::release() {
  fault_point("releasing");
  own().held = 0;
  fault_point("holds nothing");
  uint64_t active = word(State::kActive, next_);
  const bool is_in = own().word.compare_exchange_strong(
      active, word(State::kActive, next_ + 1));
  fault_point("released");
  // This job was the last one to hold back the window.
  if (is_in && jobs_.window().begin > next_) file_.header().room.notify_all();
  ++next_;
  return is_in;
}

void StageSeat::leave() {
  if (place_ == kStageConsumers) return;
  own().held = 0;
  fault_point("leaving");
  own().word = 0;
  place_ = kStageConsumers;
  fault_point("left");
  file_.header().room.notify_all();
}

void StageSeat::look_at_claims(uint64_t now_ns) {
  for (uint32_t i = 0; i < file_.shape().window; ++i) {
    const uint64_t found = file_.slot(i).word;
    const StageWord word = StageWord::of(found);
    if (word.state != StageWord::State::kClaimed || !file_.has_buffer(word)) {
      continue;
    }
    // A claim with progress is kept: another process that started anew would
    // finish later.
    const uint64_t state = mix64(found) + file_.progress(word.buffer);
    if (claims_[i].has_lasted(state, now_ns, times_.claim_ns)) {
      overdue_.mark(i, found);
      file_.header().room.notify_all();
    }
  }
}

bool StageSeat::is_in_our_way(uint32_t i, uint64_t found) const {
  const ConsumerWord job = ConsumerWord::of(found);
  return i != place_ && job.state == State::kActive &&
         is_in_the_way(job.next, next_, file_.shape().window);
}

void StageSeat::put_out(uint32_t i, uint64_t found) {
  ConsumerWord job = ConsumerWord::of(found);
  job.state = State::kOut;
  fault_point("putting out");
  if (!file_.consumer(i).word.compare_exchange_strong(found, job.packed())) {
    return;
  }
  fault_point("has put out");
  ++file_.header().put_out;
  file_.header().room.notify_all();
}

// Returns a hash that changes when the job moves or its batch's slot changes;
// 0: the job does not block us.
uint64_t StageSeat::look_at_job(uint32_t i, uint64_t now_ns) {
  const uint32_t window = file_.shape().window;
  const uint64_t found = file_.consumer(i).word;
  if (!is_in_our_way(i, found)) return 0;
  const uint64_t next = ConsumerWord::of(found).next;
  const uint64_t slot = file_.slot(static_cast<uint32_t>(next % window)).word;
  fault_point("looked for the blocking jobs");
  if (could_go_on(StageWord::of(slot), next, window) &&
      others_[i].has_lasted(found, now_ns, times_.patience_ns)) {
    put_out(i, found);
  }
  return mix64(found ^ mix64(slot));
}

void StageSeat::look_around(uint64_t now_ns) {
  (void)jobs_.drop_ended();
  look_at_claims(now_ns);
  uint64_t state =
      file_.slot(static_cast<uint32_t>(next_ % file_.shape().window)).word;
  for (uint32_t i = 0; i < kStageConsumers; ++i) {
    state = mix64(state) + look_at_job(i, now_ns);
  }
  if (!everything_.has_lasted(state, now_ns, times_.alone_ns)) return;
  go_out();
}

void StageSeat::go_out() {
  if (place_ == kStageConsumers) return;
  uint64_t active = word(State::kActive, next_);
  if (own().word.compare_exchange_strong(active, word(State::kOut, next_))) {
    file_.header().room.notify_all();
  }
}

}  // namespace penstock
