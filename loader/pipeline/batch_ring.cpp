#include "loader/pipeline/batch_ring.h"

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

constexpr size_t kLineFloats = 64 / sizeof(float);  // of a CPU cache line

// Each batch starts at a cache line.
size_t slot_floats(const BatchRing::Shape& shape) {
  const size_t floats = shape.plan.batch_samples * shape.sample_floats;
  return (floats + kLineFloats - 1) / kLineFloats * kLineFloats;
}

}  // namespace

BatchRing::BatchRing(const Shape& shape)
    : plan_(shape.plan),
      sample_floats_(shape.sample_floats),
      is_ordered_(shape.is_ordered),
      slots_(shape.batches),
      memory_(shape.batches * slot_floats(shape) * sizeof(float)) {
  const size_t places = plan_.batch_samples();
  for (size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].data =
        static_cast<float*>(memory_.begin()) + i * slot_floats(shape);
    slots_[i].good.resize(places);
    slots_[i].labels.resize(places);
    slots_[i].indices.resize(places);
    slots_[i].missing = plan_.samples(i);
  }
}

BatchRing::Claim BatchRing::claim(Place& place, uint64_t timeout_ns) {
  bool waited = false;
  uint64_t next = next_place_.load();
  for (;;) {
    const uint64_t batch = next / plan_.batch_samples();
    const uint64_t at = next % plan_.batch_samples();
    const uint64_t places = plan_.samples(batch);
    if (places == 0) return Claim::kEnd;
    const uint32_t key = room_.prepare();
    if (batch >= released_.load() + slots_.size()) {
      if (waited) return Claim::kFull;
      waited = true;
      room_.wait(key, timeout_ns);
      next = next_place_.load();
      continue;
    }
    const uint64_t behind =
        at + 1 < places ? next + 1 : (batch + 1) * plan_.batch_samples();
    if (!next_place_.compare_exchange_weak(next, behind)) continue;
    place.batch = batch;
    place.at = at;
    place.position = plan_.first_sample(batch) + at;
    place.out = slot_of(batch).data + at * sample_floats_;
    return Claim::kGot;
  }
}

void BatchRing::complete(const Place& place, const Outcome& outcome) {
  Slot& slot = slot_of(place.batch);
  slot.good[place.at] = outcome.is_good ? 1 : 0;
  slot.labels[place.at] = outcome.label;
  slot.indices[place.at] = outcome.index;
  if (slot.missing.fetch_sub(1) != 1) return;
  close_gaps(slot, plan_.samples(place.batch));
  slot.ready_number.store(place.batch + 1);
  ready_.notify_all();
}

// Moves the good samples together, in order.
void BatchRing::close_gaps(Slot& slot, size_t places) {
  size_t size = 0;
  for (size_t i = 0; i < places; ++i) {
    if (slot.good[i] == 0) continue;
    if (size != i) {
      std::memcpy(slot.data + size * sample_floats_,
                  slot.data + i * sample_floats_,
                  sample_floats_ * sizeof(float));
      slot.labels[size] = slot.labels[i];
      slot.indices[size] = slot.indices[i];
    }
    ++size;
  }
  slot.size = size;
}

std::optional<Batch> BatchRing::take_ready() {
  // Unordered: the ring's last batch is not handed out early. Otherwise a
  // trainer that keeps the oldest batch could use up the ring and block itself.
  const uint64_t end =
      is_ordered_ ? unhanded_ + 1 : std::max(unhanded_ + 1, end_number() - 1);
  for (uint64_t batch = unhanded_; batch < end; ++batch) {
    // No batch of the next epoch before all of this one.
    if (batch > unhanded_ && plan_.ends_epoch(batch - 1)) break;
    Slot& slot = slot_of(batch);
    if (slot.ready_number.load() != batch + 1 || slot.hold != Hold::kRing) {
      continue;
    }
    slot.hold = Hold::kTrainer;
    while (unhanded_ < end_number() && slot_of(unhanded_).hold != Hold::kRing) {
      ++unhanded_;
    }
    return Batch{slot.data,
                 slot.labels.data(),
                 slot.indices.data(),
                 slot.size,
                 sample_floats_,
                 batch,
                 unhanded_ > batch && plan_.ends_epoch(unhanded_ - 1),
                 memory_.is_pinned()};
  }
  return std::nullopt;
}

std::optional<Batch> BatchRing::next(uint64_t timeout_ns) {
  if (finished()) return std::nullopt;
  const uint32_t key = ready_.prepare();
  auto batch = take_ready();
  if (batch) return batch;
  ready_.wait(key, timeout_ns);
  return take_ready();
}

void BatchRing::release(const Batch& batch) {
  slot_of(batch.number).hold = Hold::kReleased;
  uint64_t first = released_.load();
  while (slot_of(first).hold == Hold::kReleased) {
    Slot& slot = slot_of(first);
    slot.hold = Hold::kRing;
    slot.missing.store(plan_.samples(first + slots_.size()));
    released_.store(++first);
  }
  room_.notify_all();
}

}  // namespace penstock
