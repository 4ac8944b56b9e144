// Marks the blocks of a file that were found in the page cache or requested, so
// that each is checked only once.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace penstock::lmdb {

// Thread-safe.
class CachedBlocks {
 public:
  static constexpr uint64_t kBytes = 128 << 10;

  explicit CachedBlocks(uint64_t file_bytes)
      : has_((file_bytes + kBytes - 1) / kBytes) {}

  uint64_t count() const { return has_.size(); }
  bool has(uint64_t block) const {
    return has_[block].load(std::memory_order_relaxed);
  }
  void add(uint64_t block) {
    has_[block].store(true, std::memory_order_relaxed);
  }

 private:
  std::vector<std::atomic<bool>> has_;
};

}  // namespace penstock::lmdb
