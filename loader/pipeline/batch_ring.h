// A ring of batches that loader threads fill sample by sample and the trainer
// empties batch by batch.
//
// A thread claims one sample at a time: the next place of the stream. A frozen
// thread (on a lent CPU whose owner uses it) delays only that sample. Meanwhile
// other threads fill the rest of its batch and the ring's following batches. No
// lock is taken, so a frozen thread cannot hold one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loader/pipeline/batch_plan.h"
#include "loader/pipeline/event_count.h"
#include "loader/pipeline/pinned_memory.h"
#include "penstock/loader/batch.h"

namespace penstock {

class BatchRing {
 public:
  struct Shape {
    size_t batches = 4;        // in the ring, >= 1
    size_t sample_floats = 1;  // >= 1
    BatchPlan::Shape plan;
    bool is_ordered = true;  // false: an epoch's batches come as they become
                             // complete
  };
  enum class Claim { kGot, kFull, kEnd };
  struct Place {
    uint64_t batch = 0;
    size_t at = 0;          // in the batch
    uint64_t position = 0;  // in the stream
    float* out = nullptr;   // sample_floats floats
  };
  struct Outcome {
    bool is_good = false;
    uint64_t index = 0;  // in the dataset
    int64_t label = 0;
  };

  explicit BatchRing(const Shape& shape);

  // Loader side; any thread. kFull: no room within timeout_ns, or woken; kEnd:
  // every place was claimed. A claimed place must be completed.
  [[nodiscard]] Claim claim(Place& place, uint64_t timeout_ns);
  void complete(const Place& place, const Outcome& outcome);
  // Wakes threads that wait in claim(); they may get kFull.
  void wake_claimers() { room_.notify_all(); }

  // Trainer side; one thread at a time. The next batch that was not handed out
  // yet; nullopt if none came within timeout_ns, and at the stream's end
  // (finished()). A batch is valid until it is released. Released slots are
  // reused in the stream's order.
  std::optional<Batch> next(uint64_t timeout_ns);
  void release(const Batch& batch);
  // See PinnableMemory.
  void try_pin() { memory_.try_pin(); }
  const std::string& pin_refusal() const { return memory_.refusal(); }
  // Every batch was handed out.
  bool finished() const { return plan_.samples(unhanded_) == 0; }
  // The first batch that was not handed out.
  uint64_t unhanded() const { return unhanded_; }
  // The ring has slots for batches that were not handed out.
  bool has_room() const { return unhanded_ < end_number(); }
  // The first batch without a slot in the ring.
  uint64_t end_number() const { return released_.load() + slots_.size(); }

  const BatchPlan& plan() const { return plan_; }

 private:
  enum class Hold { kRing, kTrainer, kReleased };
  struct Slot {
    float* data = nullptr;      // in the ring's memory
    std::vector<uint8_t> good;  // by place, 1 or 0
    std::vector<int64_t> labels;
    std::vector<uint64_t> indices;
    std::atomic<size_t> missing{0};         // places not yet completed
    std::atomic<uint64_t> ready_number{0};  // number of the complete batch + 1
    size_t size = 0;                        // set before ready_number
    Hold hold = Hold::kRing;                // only for the trainer side
  };

  Slot& slot_of(uint64_t batch) { return slots_[batch % slots_.size()]; }
  void close_gaps(Slot& slot, size_t places);
  std::optional<Batch> take_ready();

  const BatchPlan plan_;
  const size_t sample_floats_;
  const bool is_ordered_;
  std::vector<Slot> slots_;
  PinnableMemory memory_;
  std::atomic<uint64_t> next_place_{0};  // batch x batch_samples + place in it
  std::atomic<uint64_t> released_{0};    // all batches before it were released
  uint64_t unhanded_ = 0;                // only for the trainer side
  EventCount room_;
  EventCount ready_;
};

}  // namespace penstock
