// The memory that a node's ranks share: a ring of slots with chunks of records,
// and the first error. Waiters sleep in futexes.
//
// Chunk c is in slot c modulo the number of slots. A reader fills the slot once
// every rank has finished its previous chunk; each rank reads it once it is
// full.
//
// Mapped chunks use no data slot, so there may be more slots than data slots:
// ranks that share cores alternate and can be many chunks apart.
//
// Every wait is divided into periods of kLook_ms, after which the caller can
// end it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>

#include "common/result.h"

namespace penstock::lmdb {

// Position of one record.
struct SlotEntry {
  uint64_t index = 0;  // record number in key order
  uint64_t place = 0;  // offset in the slot's data, or in the file if mapped
  uint64_t bytes = 0;
};

struct RingShape {
  uint32_t ranks = 1;
  uint32_t slots = 2;
  uint32_t data_slots = 2;  // <= slots
  uint64_t slot_entries = 0;
  uint64_t slot_bytes = 0;  // of a data slot; a multiple of kDataAlignment

  static constexpr uint64_t kDataAlignment = 4096;
  // The window has the data first, then the bookkeeping.
  uint64_t data_bytes() const { return data_slots * slot_bytes; }
  uint64_t bookkeeping_bytes() const;
  uint64_t window_bytes() const;
};

// Any number of objects may use the same memory; the caller owns it.
// Thread-safe, across processes too.
class NodeRing {
 public:
  static constexpr int kLook_ms = 250;
  // Called after each period of a wait; an error ends the wait.
  using Look = std::function<Status()>;

  // memory: shape.window_bytes(), aligned to kDataAlignment; its
  // bookkeeping_bytes() must be zero at first.
  NodeRing(uint8_t* memory, const RingShape& shape);

  // For the chunk's reader: wait_free(); fill entries(); unless the chunk is
  // mapped, wait_data_free() and fill back_data(); publish().
  // Errors: those of look and of fail()
  [[nodiscard]] Status wait_free(uint64_t chunk, const Look& look);
  [[nodiscard]] Status wait_data_free(uint64_t chunk, const Look& look);
  std::span<SlotEntry> entries(uint64_t chunk) const;
  std::span<uint8_t> data(uint64_t chunk) const;
  // data(), with its memory allocated, for the chunk's reader. Without memory
  // an access is a SIGBUS. Data slots that are never used take no memory.
  // Errors: kLimit
  [[nodiscard]] Result<std::span<uint8_t>> back_data(uint64_t chunk);
  void publish(uint64_t chunk, bool is_mapped);

  // For each rank: wait_full(); read; done(), once per chunk.
  // Errors: as above
  [[nodiscard]] Status wait_full(uint64_t chunk, const Look& look);
  bool is_mapped(uint64_t chunk) const;
  void done(uint64_t chunk);

  // Sets the error that ends every later wait; only the first one is kept.
  // True: this call set it, and called `before` first. No process can see the
  // error before that returns, so none can end this process because of it.
  // Later callers wait until the first error is set, two seconds at most.
  bool fail(const Error& error, const std::function<void()>& before = {});
  // Done, or the error of fail().
  [[nodiscard]] Status state() const;
  // Ends the current periods of all waits, so that they call look.
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
