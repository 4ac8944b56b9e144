// The window that a node's ranks share: chunks of records in a ring of slots,
// and the first error. Plain memory with futexes in it; whoever waits sleeps.
//
// Chunk c is in slot c modulo the number of slots. A reader fills it once
// every rank is through with what was there before; each rank takes it once it
// is full. Chunks that are mapped need no room for data, so there may be more
// slots than data slots: ranks that share cores are far apart by turns. Every
// wait is cut into pieces of kLook_ms, and looks after each whether there is a
// reason to give up.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>

#include "common/result.h"

namespace penstock::lmdb {

// Where one record is.
struct SlotEntry {
  uint64_t index = 0;  // its number in key order
  uint64_t place = 0;  // in the slot's data; in the file, if it is mapped
  uint64_t bytes = 0;
};

struct RingShape {
  uint32_t ranks = 1;
  uint32_t slots = 2;
  uint32_t data_slots = 2;  // at most as many
  uint64_t slot_entries = 0;
  uint64_t slot_bytes = 0;  // of a data slot; a multiple of kDataAlignment

  static constexpr uint64_t kDataAlignment = 4096;
  // Of the window: data first, then bookkeeping.
  uint64_t data_bytes() const { return data_slots * slot_bytes; }
  uint64_t bookkeeping_bytes() const;
  uint64_t window_bytes() const;
};

// One object per thread, all on the same memory; the memory stays the
// caller's. Thread-safe between processes too.
class NodeRing {
 public:
  static constexpr int kLook_ms = 250;
  // Called after each piece of a wait; an error ends the wait with it.
  using Look = std::function<Status()>;

  // memory: shape.window_bytes(), aligned to kDataAlignment; its
  // bookkeeping_bytes() zeros at first.
  NodeRing(uint8_t* memory, const RingShape& shape);

  // For the chunk's reader. wait_free(), then fill entries(), and, after
  // wait_data_free(), data(), then publish(). Errors: look's; and fail()'s
  [[nodiscard]] Status wait_free(uint64_t chunk, const Look& look);
  [[nodiscard]] Status wait_data_free(uint64_t chunk, const Look& look);
  std::span<SlotEntry> entries(uint64_t chunk) const;
  std::span<uint8_t> data(uint64_t chunk) const;
  // data(), for the chunk's reader, once there is memory behind it: where
  // there is none, touching it is a SIGBUS. What never needs to be read into
  // takes none so. Errors: kLimit
  [[nodiscard]] Result<std::span<uint8_t>> back_data(uint64_t chunk);
  void publish(uint64_t chunk, bool is_mapped);

  // For each rank. wait_full(), then read, then done(), once per chunk.
  // Errors: as above
  [[nodiscard]] Status wait_full(uint64_t chunk, const Look& look);
  bool is_mapped(uint64_t chunk) const;
  void done(uint64_t chunk);

  // Ends every wait from now on with this error; the first one stays. True
  // for who set it, who has called `before` then: until it returns nobody sees
  // the error, and so nobody ends this process because of it. Whoever comes
  // second waits until the first one stands, for two seconds at most.
  bool fail(const Error& error, const std::function<void()>& before = {});
  // Done, or the error of fail().
  [[nodiscard]] Status state() const;
  // Ends pieces of waits early, so that they look.
  void wake_all();

 private:
  struct Slot;
  struct Head;
  Head& head() const;
  Slot& slot(uint64_t chunk) const;
  bool is_done(uint64_t chunk) const;
  Status wait_done(uint64_t chunk, const Look& look);
  Status wait(std::atomic<uint32_t>& word, uint32_t seen, const Look& look);

  uint8_t* memory_;
  RingShape shape_;
};

}  // namespace penstock::lmdb
