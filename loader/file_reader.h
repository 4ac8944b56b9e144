// Reads files, or parts of files, into one buffer that is used again: buffered,
// or O_DIRECT past the page cache.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "common/result.h"
#include "common/unique_fd.h"
#include "penstock/loader/read_mode.h"

namespace penstock {

// Tells whether a file is still what it was.
struct FileVersion {
  uint64_t bytes = 0;
  int64_t modified_ns = 0;  // since 1970
  uint64_t device = 0;
  uint64_t inode = 0;

  static FileVersion of(const struct stat& status) {
    return {
        static_cast<uint64_t>(status.st_size),
        int64_t{status.st_mtim.tv_sec} * 1000000000 + status.st_mtim.tv_nsec,
        status.st_dev, status.st_ino};
  }
  bool operator==(const FileVersion&) const = default;
};

// A reader's error, which begins with the file's path, as one of the part of it
// that is called so.
inline Error of_part(Error error, const std::string& path,
                     const std::string& name) {
  if (error.message.starts_with(path)) {
    error.message.replace(0, path.size(), name);
  }
  return error;
}

// One reader per thread.
class FileReader {
 public:
  // What O_DIRECT needs at most of today's devices: logical blocks of 4 KiB.
  static constexpr uint64_t kAlignmentBytes = 4096;
  static constexpr uint64_t kMaxReadBytes = uint64_t{1} << 30;

  // Opens the file and returns its size in bytes. Between open() and read()
  // the caller may wait for bandwidth.
  // Errors: kNotFound, kPermissionDenied, kIo; kInvalidArgument  no regular
  //         file, empty, over 1 GiB; kUnavailable  the file system refuses
  //         O_DIRECT
  [[nodiscard]] Result<uint64_t> open(const std::string& path, ReadMode mode);

  // Opens a file for one part of it and returns that part's size. The file
  // stays open for further parts.
  // Errors: as open(), of the part instead of the file; kInvalidArgument  the
  //         file is no longer what it is known to be
  struct Part {
    uint64_t offset = 0;
    uint64_t bytes = 0;
    FileVersion file;
  };
  [[nodiscard]] Result<uint64_t> open_part(const std::string& path,
                                           ReadMode mode, const Part& part);

  // Takes what was opened out of the page cache, as far as the kernel does that
  // at once: not what others have mapped, and nothing on tmpfs.
  void drop_cached() const;

  // Reads what was opened. The bytes are valid until the next call. A file that
  // became shorter gives what is left of it.
  // REQUIRES: open() or open_part() succeeded.
  // Errors: kIo  also for a part that became shorter; kLimit  no memory;
  //         kInvalidArgument  the part's file was written to meanwhile
  [[nodiscard]] Result<std::span<const uint8_t>> read();

 private:
  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };
  Status reserve(uint64_t bytes);

  Status open_file(const std::string& path, ReadMode mode);
  Status check_size(uint64_t bytes) const;
  Status check_unchanged() const;
  Result<uint64_t> fill(uint64_t begin, uint64_t end, uint64_t capacity);

  ReadMode mode_ = ReadMode::kBuffered;  // of the opened file
  std::string path_;
  UniqueFd fd_;
  FileVersion file_;     // when it was opened
  uint64_t offset_ = 0;  // of what is to be read
  uint64_t bytes_ = 0;
  bool is_part_ = false;
  std::unique_ptr<uint8_t, Free> buffer_;
  uint64_t capacity_bytes_ = 0;
};

}  // namespace penstock
