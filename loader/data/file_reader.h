// Reads files, or parts of files, into one reused buffer: buffered, or with
// O_DIRECT, bypassing the page cache.
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

// Identity and version of a file, to detect changes.
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

// One reader per thread.
class FileReader {
 public:
  // O_DIRECT's alignment: the largest logical block size of common devices.
  static constexpr uint64_t kAlignmentBytes = 4096;
  static constexpr uint64_t kMaxReadBytes = uint64_t{1} << 30;

  // Opens the file and returns its size in bytes. Between open() and read()
  // the caller may wait for bandwidth.
  // Errors: kNotFound, kPermissionDenied, kIo; kInvalidArgument  not a regular
  //         file, empty, over 1 GiB; kUnavailable  the file system refuses
  //         O_DIRECT
  [[nodiscard]] Result<uint64_t> open(const std::string& path, ReadMode mode);

  // Opens a file for one part of it and returns that part's size. The file
  // stays open for further parts.
  // Errors: as open(), for the part instead of the file; kInvalidArgument  the
  //         file differs from part.file
  struct Part {
    uint64_t offset = 0;
    uint64_t bytes = 0;
    FileVersion file;
  };
  [[nodiscard]] Result<uint64_t> open_part(const std::string& path,
                                           ReadMode mode, const Part& part);

  // Drops the opened file or part from the page cache. The kernel keeps pages
  // that processes have mapped, and everything on tmpfs.
  void drop_cached() const;

  // Reads the opened file or part. The bytes are valid until the next call. Of
  // a file that became shorter, returns what is left.
  // REQUIRES: open() or open_part() succeeded.
  // Errors: kIo  also for a part that became shorter; kLimit  no memory;
  //         kInvalidArgument  the part's file was modified meanwhile
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
  uint64_t offset_ = 0;  // of the file or part to read
  uint64_t bytes_ = 0;
  bool is_part_ = false;
  std::unique_ptr<uint8_t, Free> buffer_;
  uint64_t capacity_bytes_ = 0;
};

}  // namespace penstock
