#include "loader/lmdb/mpi/node_ring.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include "loader/lmdb/mpi/backed_memory.h"

namespace penstock::lmdb {
namespace {

uint64_t padded(uint64_t bytes) {
  constexpr uint64_t kUnit = RingShape::kDataAlignment;
  return (bytes + kUnit - 1) / kUnit * kUnit;
}

// Not FUTEX_*_PRIVATE: the other side is another process.
void futex_wait(std::atomic<uint32_t>& word, uint32_t seen, int timeout_ms) {
  const timespec timeout{timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

enum Failing : uint32_t { kNone, kBeingWritten, kWritten };
constexpr int kLooksForFirst = 8;

}  // namespace

struct NodeRing::Head {
  std::atomic<uint32_t> failing;
  int32_t code;
  int32_t saved_errno;
  char message[1012];
};

struct NodeRing::Slot {
  std::atomic<uint32_t> filled;  // the chunk in the slot, + 1; 0: none
  std::atomic<uint32_t> done;    // calls of done(), over all chunks so far
  uint32_t is_mapped;
  uint32_t is_backed;  // the data slot of the same number has memory
};

namespace {
constexpr uint64_t kHeadBytes = 1024;
constexpr uint64_t kSlotHeadBytes = 64;  // a cache line each
}  // namespace

uint64_t RingShape::bookkeeping_bytes() const {
  return padded(kHeadBytes + slots * kSlotHeadBytes) +
         padded(slots * slot_entries * sizeof(SlotEntry));
}

uint64_t RingShape::window_bytes() const {
  return data_bytes() + bookkeeping_bytes();
}

NodeRing::NodeRing(uint8_t* memory, const RingShape& shape)
    : memory_(memory), shape_(shape) {
  static_assert(sizeof(Head) == kHeadBytes && sizeof(Slot) <= kSlotHeadBytes);
  static_assert(std::atomic<uint32_t>::is_always_lock_free);
}

NodeRing::Head& NodeRing::head() const {
  return *reinterpret_cast<Head*>(memory_ + shape_.data_bytes());
}

NodeRing::Slot& NodeRing::slot(uint64_t chunk) const {
  return *reinterpret_cast<Slot*>(memory_ + shape_.data_bytes() + kHeadBytes +
                                  chunk % shape_.slots * kSlotHeadBytes);
}

std::span<SlotEntry> NodeRing::entries(uint64_t chunk) const {
  auto* const all = reinterpret_cast<SlotEntry*>(
      memory_ + shape_.data_bytes() +
      padded(kHeadBytes + shape_.slots * kSlotHeadBytes));
  return {all + chunk % shape_.slots * shape_.slot_entries,
          shape_.slot_entries};
}

std::span<uint8_t> NodeRing::data(uint64_t chunk) const {
  return {memory_ + chunk % shape_.data_slots * shape_.slot_bytes,
          shape_.slot_bytes};
}

Result<std::span<uint8_t>> NodeRing::back_data(uint64_t chunk) {
  Slot& mine = slot(chunk % shape_.data_slots);
  if (mine.is_backed == 0) {
    if (Status ok = back_memory(data(chunk)); !ok) return std::move(ok).error();
    mine.is_backed = 1;
  }
  return data(chunk);
}

Status NodeRing::wait(std::atomic<uint32_t>& word, uint32_t seen,
                      const Look& look) {
  futex_wait(word, seen, kLook_ms);
  if (Status ok = state(); !ok) return ok;
  return word.load() == seen ? look() : Done{};
}

// Whether all ranks have finished the chunk. The counter wraps at 2^32.
bool NodeRing::is_done(uint64_t chunk) const {
  const auto wanted =
      static_cast<uint32_t>((chunk / shape_.slots + 1) * shape_.ranks);
  const uint32_t done = slot(chunk).done.load(std::memory_order_acquire);
  return static_cast<int32_t>(done - wanted) >= 0;
}

Status NodeRing::wait_done(uint64_t chunk, const Look& look) {
  std::atomic<uint32_t>& done = slot(chunk).done;
  while (true) {
    const uint32_t seen = done.load(std::memory_order_acquire);
    if (is_done(chunk)) return Done{};
    if (Status waited = wait(done, seen, look); !waited) return waited;
  }
}

Status NodeRing::wait_free(uint64_t chunk, const Look& look) {
  if (Status ok = state(); !ok) return ok;
  if (chunk < shape_.slots) return Done{};
  const uint64_t before = chunk - shape_.slots;
  if (is_done(before)) return Done{};
  // Waits for several free slots: a reader woken for each chunk would take CPU
  // time from ranks that still have many chunks.
  const uint64_t spare = (shape_.slots - shape_.data_slots) / 4;
  return wait_done(before + spare, look);
}

Status NodeRing::wait_data_free(uint64_t chunk, const Look& look) {
  if (Status ok = state(); !ok) return ok;
  if (chunk < shape_.data_slots) return Done{};
  return wait_done(chunk - shape_.data_slots, look);
}

void NodeRing::publish(uint64_t chunk, bool is_mapped) {
  Slot& mine = slot(chunk);
  mine.is_mapped = is_mapped ? 1 : 0;
  mine.filled.store(static_cast<uint32_t>(chunk + 1),
                    std::memory_order_release);
  futex_wake(mine.filled);
}

Status NodeRing::wait_full(uint64_t chunk, const Look& look) {
  Slot& mine = slot(chunk);
  while (true) {
    const uint32_t has = mine.filled.load(std::memory_order_acquire);
    // Takes a full chunk even after a failure, so that all ranks get equally
    // far.
    if (has == static_cast<uint32_t>(chunk + 1)) return Done{};
    if (Status ok = state(); !ok) return ok;
    if (Status waited = wait(mine.filled, has, look); !waited) return waited;
  }
}

bool NodeRing::is_mapped(uint64_t chunk) const {
  return slot(chunk).is_mapped != 0;
}

void NodeRing::done(uint64_t chunk) {
  Slot& mine = slot(chunk);
  const uint32_t now = mine.done.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (now % shape_.ranks == 0) futex_wake(mine.done);
}

bool NodeRing::fail(const Error& error, const std::function<void()>& before) {
  Head& shared = head();
  uint32_t none = kNone;
  if (!shared.failing.compare_exchange_strong(none, kBeingWritten)) {
    // The first caller may be a thread of this process in `before`, or may have
    // been killed there.
    for (int i = 0; i < kLooksForFirst && shared.failing != kWritten; ++i) {
      futex_wait(shared.failing, kBeingWritten, kLook_ms);
    }
    return false;
  }
  shared.code = static_cast<int32_t>(error.code);
  shared.saved_errno = error.saved_errno;
  const size_t length =
      error.message.copy(shared.message, sizeof shared.message - 1);
  shared.message[length] = '\0';
  if (before) before();
  shared.failing.store(kWritten);
  futex_wake(shared.failing);
  wake_all();
  return true;
}

Status NodeRing::state() const {
  const Head& shared = head();
  if (shared.failing.load(std::memory_order_acquire) != kWritten) return Done{};
  return Error{static_cast<Code>(shared.code), shared.saved_errno,
               shared.message};
}

void NodeRing::wake_all() {
  for (uint32_t i = 0; i < shape_.slots; ++i) {
    futex_wake(slot(i).filled);
    futex_wake(slot(i).done);
  }
}

}  // namespace penstock::lmdb
