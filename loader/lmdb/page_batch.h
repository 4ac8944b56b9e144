// Many positioned reads of a file at once: through io_uring where the kernel
// has it and lets this process use it, so that a storage of high latency works
// at several; else pread(), one after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "common/result.h"

namespace penstock::lmdb {

// Bytes of the file from offset on, and where they belong.
struct PageRange {
  uint64_t offset = 0;
  std::span<uint8_t> into;
};

enum class ReadWith {
  kBest,   // io_uring, where it can be had
  kPread,  // pread() in any case
};

class PageBatch {
 public:
  // How many reads are under way at most.
  static constexpr unsigned kDepth = 64;

  explicit PageBatch(ReadWith with = ReadWith::kBest);
  PageBatch(PageBatch&&) noexcept;
  PageBatch& operator=(PageBatch&&) noexcept;
  ~PageBatch();

  bool has_io_uring() const { return ring_ != nullptr; }

  // Fills all ranges. Blocks until the last one is there, also after an error.
  // Not thread-safe.
  // Errors: kIo  a read failed, or the file ends before a range does
  [[nodiscard]] Status read(int fd, std::span<const PageRange> ranges);

 private:
  class Ring;
  std::unique_ptr<Ring> ring_;  // null: pread
};

}  // namespace penstock::lmdb
