// Batched positioned reads of a file. Uses io_uring if the kernel has it and
// allows it, so that storage of high latency serves several reads at once; else
// pread(), one read after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "common/result.h"

namespace penstock::lmdb {

// Bytes of the file from offset on, and their destination.
struct PageRange {
  uint64_t offset = 0;
  std::span<uint8_t> into;
};

enum class ReadWith {
  kBest,   // io_uring if available
  kPread,  // always pread()
};

class PageBatch {
 public:
  // Maximum number of reads in flight.
  static constexpr unsigned kDepth = 64;

  explicit PageBatch(ReadWith with = ReadWith::kBest);
  PageBatch(PageBatch&&) noexcept;
  PageBatch& operator=(PageBatch&&) noexcept;
  ~PageBatch();

  bool has_io_uring() const { return ring_ != nullptr; }

  // Fills all ranges. After an error it still waits for reads in flight. Not
  // thread-safe.
  // Errors: kIo  a read failed, or the file ends before a range does
  [[nodiscard]] Status read(int fd, std::span<const PageRange> ranges);

 private:
  class Ring;
  std::unique_ptr<Ring> ring_;  // null: pread
};

}  // namespace penstock::lmdb
