#include "loader/batch_ring.h"

#include <algorithm>
#include <cstring>

namespace penstock {

BatchRing::BatchRing(const Shape& shape)
    : shape_(shape), slots_(shape.batches) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].data = std::make_unique_for_overwrite<float[]>(
        shape_.batch_samples * shape_.sample_floats);
    slots_[i].good.resize(shape_.batch_samples);
    slots_[i].missing = places_of(i);
  }
}

size_t BatchRing::places_of(uint64_t number) const {
  const uint64_t begin = number * shape_.batch_samples;
  if (begin >= shape_.total_samples) return 0;
  return static_cast<size_t>(
      std::min<uint64_t>(shape_.batch_samples, shape_.total_samples - begin));
}

BatchRing::Claim BatchRing::claim(Place& place, uint64_t timeout_ns) {
  bool waited = false;
  uint64_t position = next_position_.load();
  for (;;) {
    if (position >= shape_.total_samples) return Claim::kEnd;
    const uint32_t key = room_.prepare();
    const uint64_t number = position / shape_.batch_samples;
    if (number >= released_.load() + slots_.size()) {
      if (waited) return Claim::kFull;
      waited = true;
      room_.wait(key, timeout_ns);
      position = next_position_.load();
      continue;
    }
    if (!next_position_.compare_exchange_weak(position, position + 1)) continue;
    Slot& slot = slots_[number % slots_.size()];
    place.position = position;
    place.out = slot.data.get() +
                position % shape_.batch_samples * shape_.sample_floats;
    return Claim::kGot;
  }
}

void BatchRing::complete(const Place& place, bool good) {
  const uint64_t number = place.position / shape_.batch_samples;
  Slot& slot = slots_[number % slots_.size()];
  slot.good[place.position % shape_.batch_samples] = good ? 1 : 0;
  if (slot.missing.fetch_sub(1) != 1) return;
  close_gaps(slot, places_of(number));
  slot.ready_number.store(number + 1);
  ready_.notify_all();
}

// Moves the good samples together, in order.
void BatchRing::close_gaps(Slot& slot, size_t places) {
  size_t size = 0;
  for (size_t i = 0; i < places; ++i) {
    if (slot.good[i] == 0) continue;
    if (size != i) {
      std::memcpy(slot.data.get() + size * shape_.sample_floats,
                  slot.data.get() + i * shape_.sample_floats,
                  shape_.sample_floats * sizeof(float));
    }
    ++size;
  }
  slot.size = size;
}

bool BatchRing::finished() const { return places_of(released_.load()) == 0; }

std::optional<Batch> BatchRing::next(uint64_t timeout_ns) {
  if (finished()) return std::nullopt;
  const uint64_t number = released_.load();
  const Slot& slot = slots_[number % slots_.size()];
  const uint32_t key = ready_.prepare();
  if (slot.ready_number.load() != number + 1) ready_.wait(key, timeout_ns);
  if (slot.ready_number.load() != number + 1) return std::nullopt;
  return Batch{slot.data.get(), slot.size, number};
}

void BatchRing::release() {
  const uint64_t number = released_.load();
  Slot& slot = slots_[number % slots_.size()];
  slot.missing.store(places_of(number + slots_.size()));
  released_.store(number + 1);
  room_.notify_all();
}

}  // namespace penstock
