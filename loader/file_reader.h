// Reads whole files into one buffer that is used again: buffered, or O_DIRECT
// past the page cache.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "common/result.h"
#include "common/unique_fd.h"
#include "penstock/loader/read_mode.h"

namespace penstock {

// One reader per thread.
class FileReader {
 public:
  // What O_DIRECT needs at most of today's devices: logical blocks of 4 KiB.
  static constexpr uint64_t kAlignmentBytes = 4096;
  static constexpr uint64_t kMaxFileBytes = uint64_t{1} << 30;

  // Opens the file and returns its size in bytes. Between open() and read()
  // the caller may wait for bandwidth.
  // Errors: kNotFound, kPermissionDenied, kIo; kInvalidArgument  no regular
  //         file, empty, over 1 GiB; kUnavailable  the file system refuses
  //         O_DIRECT
  [[nodiscard]] Result<uint64_t> open(const std::string& path, ReadMode mode);

  // Takes the opened file out of the page cache, as far as the kernel does that
  // at once: not what others have mapped, and nothing on tmpfs.
  void drop_cached() const;

  // Reads the opened file and closes it. The bytes are valid until the next
  // open(). A file that became shorter gives what is left of it.
  // REQUIRES: open() succeeded.
  [[nodiscard]] Result<std::span<const uint8_t>> read();

 private:
  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };
  Status reserve(uint64_t bytes);

  ReadMode mode_ = ReadMode::kBuffered;  // of the opened file
  std::string path_;
  UniqueFd fd_;
  uint64_t size_bytes_ = 0;
  std::unique_ptr<uint8_t, Free> buffer_;
  uint64_t capacity_bytes_ = 0;
};

}  // namespace penstock
