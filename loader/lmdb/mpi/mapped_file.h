// A data file mapped for reading, and what of it is in the page cache.
#pragma once

#include <cstdint>
#include <span>

#include "common/result.h"
#include "loader/lmdb/page_format.h"

namespace penstock::lmdb {

struct Stretch {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

class MappedFile {
 public:
  // Maps the first `bytes` of the file; fd stays the caller's.
  // Errors: kIo  mmap() refuses
  [[nodiscard]] static Result<MappedFile> map(int fd, uint64_t bytes);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  // Touching what the file no longer has is a SIGBUS: is_whole() has to be
  // asked shortly before. What remains is a file that is truncated, or a
  // storage that fails, between the question and the use.
  const uint8_t* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

  // Whether the file still is as long as the mapping.
  bool is_whole() const;

  // Whether these bytes, none beyond the end, are in the page cache.
  bool is_cached(Stretch stretch) const;
  // Whether these records are. is_stretch: they are one.
  bool is_cached(std::span<const RecordSpan> records, bool is_stretch) const;

  // Asks the kernel to read the stretch into the page cache; returns at once.
  void ask_for(uint64_t offset, uint64_t bytes) const;
  // Waits until these bytes, none beyond the end, can be touched: a page that
  // is being read, or whose readahead has failed, is in the page cache, too.
  // Puts the stretches in order. False: this kernel cannot be asked to (before
  // Linux 5.14). Errors: kIo  one cannot be read: touching it would be a SIGBUS
  Result<bool> wait_for(std::span<Stretch> stretches) const;

 private:
  MappedFile(int fd, const uint8_t* data, uint64_t bytes)
      : fd_(fd), data_(data), bytes_(bytes) {}
  Result<bool> populate(Stretch stretch) const;

  int fd_;
  const uint8_t* data_;
  uint64_t bytes_;
};

}  // namespace penstock::lmdb
