#include "loader/staging/stage_claims.h"

#include "loader/cache/fault_point.h"

namespace penstock {

std::optional<StageClaim> StageClaims::claim(bool look_for_ended) {
  // The place of an ended job holds back the window until it is freed.
  if (look_for_ended) (void)jobs_.drop_ended();
  return claim_first(look_for_ended);
}

std::optional<StageClaim> StageClaims::claim_first(bool look_for_ended) {
  const StageWindow window = jobs_.window();
  for (uint64_t batch = window.begin; batch < window.end; ++batch) {
    if (auto claim = try_claim(batch, look_for_ended)) return claim;
  }
  return std::nullopt;
}

std::optional<StageClaim> StageClaims::try_claim(uint64_t batch,
                                                 bool look_for_ended) {
  const uint32_t window = file_.shape().window;
  const auto slot = static_cast<uint32_t>(batch % window);
  const uint64_t found = file_.slot(slot).word;
  fault_point("looked at the slot");
  const StageWord word = StageWord::of(found);
  // An entering job either sees the raised floor or is seen by window() below.
  if (passes_over(word, batch, window)) jobs_.raise_floor(batch - window + 1);
  // The jobs must be read after the slot: a job that entered later found no
  // batch of its epoch claimed, so the slot's batch is older than its epoch.
  if (!jobs_.window().holds(batch)) return std::nullopt;
  const SlotRule rule = slot_rule(word, batch, window);
  if (rule == SlotRule::kDone || batch / window >= kMostLaps) {
    return std::nullopt;
  }
  if (rule == SlotRule::kClaimed &&
      !(look_for_ended && file_.has_ended(word.member, word.generation))) {
    if (!overdue_.has(slot, found)) return std::nullopt;
    return take_with_spare(batch, found);  // its owner may resume and write
  }
  if (!file_.has_buffer(word) || jobs_.is_held(word.buffer)) {
    return take_with_spare(batch, found);
  }
  return take(batch, found, word.buffer);
}

bool StageClaims::place(StageClaim& claim, uint64_t found) {
  const StageWord word{StageWord::State::kClaimed, file_.member(),
                       file_.generation(), claim.buffer,
                       claim.batch / file_.shape().window};
  claim.word = word.packed();
  fault_point("claiming");
  if (!slot_of(claim.batch).word.compare_exchange_strong(found, claim.word)) {
    return false;
  }
  fault_point("claimed");
  if (StageWord::of(found).state == StageWord::State::kClaimed) {
    ++file_.header().taken_over;
  }
  return true;
}

// Claims the batch with the buffer that the slot already names.
std::optional<StageClaim> StageClaims::take(uint64_t batch, uint64_t found,
                                            uint32_t buffer) {
  if (has_claim_[buffer].exchange(true)) return std::nullopt;
  StageClaim claim{.batch = batch, .buffer = buffer};
  if (place(claim, found) && take_buffer(claim)) return claim;
  has_claim_[buffer] = false;
  return std::nullopt;
}

// The slot's word reserves the buffer for this claim. If this thread is stopped
// until the claim is taken over, it finds the slot's word or the tag changed.
bool StageClaims::take_buffer(StageClaim& claim) {
  std::atomic<uint64_t>& tag = file_.tag(claim.buffer);
  claim.tag = new_tag();
  uint64_t found = tag;
  do {
    fault_point("looked at the tag");
    if (!holds(claim)) return false;
    fault_point("taking the buffer");
  } while (!tag.compare_exchange_strong(found, claim.tag));
  fault_point("has the buffer");
  return true;
}

std::optional<StageClaim> StageClaims::take_with_spare(uint64_t batch,
                                                       uint64_t found) {
  StageClaim claim{.batch = batch};
  if (!take_spare(claim)) return std::nullopt;
  if (place(claim, found)) return claim;
  give_up(claim);
  has_claim_[claim.buffer] = false;
  return std::nullopt;
}

bool StageClaims::take_spare(StageClaim& claim) {
  for (uint32_t i = 0; i < file_.shape().buffers; ++i) {
    if (!take_if_spare(i, claim)) continue;
    fault_point("has a spare");
    if (file_.allocate(i)) return true;
    give_up(claim);
    has_claim_[i] = false;
    return false;
  }
  return false;
}

// A spare buffer is named by no slot and has no reader and no writer. That
// stays true while its tag is unchanged, which the swap of the tag verifies.
bool StageClaims::take_if_spare(uint32_t buffer, StageClaim& claim) {
  uint64_t found = file_.tag(buffer);
  fault_point("looked at a spare");
  if (!is_free(found) || jobs_.is_placed(buffer) || jobs_.is_held(buffer) ||
      has_claim_[buffer].exchange(true)) {
    return false;
  }
  claim.buffer = buffer;
  claim.tag = new_tag();
  fault_point("taking a spare");
  if (file_.tag(buffer).compare_exchange_strong(found, claim.tag)) return true;
  has_claim_[buffer] = false;
  return false;
}

bool StageClaims::is_free(uint64_t tag) const {
  const BufferTag word = BufferTag::of(tag);
  return !word.is_written || file_.has_ended(word.member, word.generation);
}

uint64_t StageClaims::new_tag() {
  const BufferTag tag{true, file_.member(), file_.generation(),
                      ++file_.header().tickets};
  return tag.packed();
}

bool StageClaims::holds(const StageClaim& claim) const {
  return slot_of(claim.batch).word == claim.word;
}

// False: the claim was taken over.
bool StageClaims::finish(const StageClaim& claim, StageWord::State state) {
  // Before the slot's word changes: the buffer's next owner must find no
  // writer.
  give_up(claim);
  fault_point("finished");
  const StageWord word = StageWord::of(claim.word);
  const StageWord now{state, 0, 0, word.buffer, word.lap};
  uint64_t expected = claim.word;
  const bool is_ours =
      slot_of(claim.batch).word.compare_exchange_strong(expected, now.packed());
  has_claim_[claim.buffer] = false;
  return is_ours;
}

bool StageClaims::publish(const StageClaim& claim) {
  if (!finish(claim, StageWord::State::kReady)) return false;
  fault_point("published");
  ++file_.header().prepared_batches;
  file_.header().ready.notify_all();
  return true;
}

void StageClaims::leave(const StageClaim& claim) {
  if (!finish(claim, StageWord::State::kLeft)) return;
  fault_point("left the claim");
  file_.header().room.notify_all();
}

// A plain store is enough: nobody else changes the tag of a buffer while a
// living member writes it.
void StageClaims::give_up(const StageClaim& claim) {
  BufferTag tag = BufferTag::of(claim.tag);
  tag.is_written = false;
  file_.tag(claim.buffer) = tag.packed();
}

}  // namespace penstock
