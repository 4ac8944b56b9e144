// A data file mapped for reading, with queries about its page cache.
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
  // Maps the first `bytes` of the file. The caller keeps fd.
  // Errors: kIo  mmap() fails
  [[nodiscard]] static Result<MappedFile> map(int fd, uint64_t bytes);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  // Access beyond the file's end is a SIGBUS, so call is_whole() shortly
  // before. The remaining risk is a truncation or a storage failure between
  // check and access.
  const uint8_t* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

  // Whether the file is still at least as long as the mapping.
  bool is_whole() const;

  // Whether these bytes are in the page cache. REQUIRES: within the file.
  bool is_cached(Stretch stretch) const;
  // Whether these records are in the page cache. is_stretch: they are
  // contiguous, so one query may cover all.
  bool is_cached(std::span<const RecordSpan> records, bool is_stretch) const;

  // Requests readahead of the stretch; does not wait.
  void ask_for(uint64_t offset, uint64_t bytes) const;
  // Waits until these bytes can be accessed without a SIGBUS. is_cached() is
  // not enough: the page cache also has pages that are being read, or whose
  // readahead failed. Sorts the stretches. False: not supported (Linux < 5.14).
  // REQUIRES: within the file. Errors: kIo  a stretch is unreadable
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
