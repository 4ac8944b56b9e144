// A ring of batches that loader threads fill sample by sample and the trainer
// empties batch by batch, in order.
//
// Samples, not batches, are what a thread takes: it claims the next position
// of the whole stream and writes into that position's place. A thread that is
// frozen (an away thread whose lent CPU is wanted by its owner) holds up one
// sample; the others fill the rest of that batch and the following batches of
// the ring meanwhile. No lock is taken, so none can be held by such a thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "loader/event_count.h"

namespace penstock {

struct Batch {
  const float* data = nullptr;  // size samples, one behind the other
  size_t size = 0;              // good samples; 0 when all were broken
  uint64_t number = 0;          // from 0
};

class BatchRing {
 public:
  struct Shape {
    size_t batches = 4;                   // in the ring, >= 1
    size_t batch_samples = 1;             // >= 1
    size_t sample_floats = 1;             // >= 1
    uint64_t total_samples = UINT64_MAX;  // of the stream; the last batch may
                                          // be a short one
  };
  enum class Claim { kGot, kFull, kEnd };
  struct Place {
    uint64_t position = 0;  // in the stream
    float* out = nullptr;   // sample_floats floats
  };

  explicit BatchRing(const Shape& shape);

  // Loader side; any thread. kFull after timeout_ns without room, kEnd when
  // every position has been claimed. A claimed place must be completed.
  [[nodiscard]] Claim claim(Place& place, uint64_t timeout_ns);
  void complete(const Place& place, bool good);

  // Trainer side; one thread. nullopt after timeout_ns without the next batch
  // and at the stream's end (finished()). The batch stays valid until
  // release(), which gives its room back.
  std::optional<Batch> next(uint64_t timeout_ns);
  void release();
  bool finished() const;
  // Of the first batch that has no room in the ring yet.
  uint64_t end_number() const { return released_.load() + slots_.size(); }

 private:
  struct Slot {
    std::unique_ptr<float[]> data;
    std::vector<uint8_t> good;              // by place, 1 or 0
    std::atomic<size_t> missing{0};         // places not yet completed
    std::atomic<uint64_t> ready_number{0};  // number of the complete batch + 1
    size_t size = 0;                        // set before ready_number
  };

  size_t places_of(uint64_t number) const;
  void close_gaps(Slot& slot, size_t places);

  const Shape shape_;
  std::vector<Slot> slots_;
  std::atomic<uint64_t> next_position_{0};
  std::atomic<uint64_t> released_{0};  // batches
  EventCount room_;
  EventCount ready_;
};

}  // namespace penstock
