// Everything that Penstock does below /sys/fs/cgroup, relative to one held
// directory fd, so that tests use a temporary tree and a path can never lead
// out of it.
//
// A path is relative ("cpuset/penstock/job_7"); "" is the root itself; a
// leading or doubled '/' is ignored. ".." is refused and no component may be
// a symbolic link. Functions are virtual so that tests inject failures.
// Thread-safe but for moving the object.
//
// Errors of every function: kInvalidArgument  a path with "..";
//   kNotFound  no such file or group;  kPermissionDenied;  kIo  with
//   saved_errno (EBUSY of remove_dir, EROFS, ...); messages name the path.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

// Tells whether a file has been written to since this was made.
class WriteWatch {
 public:
  explicit WriteWatch(UniqueFd inotify) : inotify_(std::move(inotify)) {}
  bool was_written() const;

 private:
  UniqueFd inotify_;
};

class CgroupFs {
 public:
  // A larger file is kLimit. A pid list of 100,000 threads has 700 KiB.
  static constexpr size_t kMaxFileBytes = 1 << 20;
  static constexpr size_t kMaxMarkBytes = 1 << 16;  // the kernel's limit

  // root_fd: an open directory.
  explicit CgroupFs(UniqueFd root_fd) : root_(std::move(root_fd)) {}
  // Opens the directory at an absolute path of the machine.
  static Result<UniqueFd> open_root(const std::string& path);

  CgroupFs(CgroupFs&&) = default;
  CgroupFs& operator=(CgroupFs&&) = default;
  virtual ~CgroupFs() = default;

  // An fd of a directory (O_PATH) or of a file to read, for repeated use.
  [[nodiscard]] virtual Result<UniqueFd> open_dir(std::string_view path) const;
  [[nodiscard]] virtual Result<UniqueFd> open_file(std::string_view path) const;

  // Makes one directory, mode 0755; its parent must exist. Done as well where
  // it exists already.
  [[nodiscard]] virtual Status make_dir(std::string_view path) const;
  // Removes one empty directory. Done as well where there is none.
  [[nodiscard]] virtual Status remove_dir(std::string_view path) const;

  // The whole file.
  [[nodiscard]] virtual Result<std::string> read_file(
      std::string_view path) const;
  // Writes text with one write(2), as control files need it; a short write is
  // kIo. The file must exist.
  [[nodiscard]] virtual Status write_file(std::string_view path,
                                          std::string_view text) const;

  // Names of the directories in path, sorted.
  [[nodiscard]] virtual Result<std::vector<std::string>> list_dirs(
      std::string_view path) const;

  // A short text that stands with a directory until it is removed (an extended
  // attribute trusted.NAME). read_mark is kNotFound where there is none, and
  // removing none is done as well.
  [[nodiscard]] virtual Result<std::string> read_mark(
      std::string_view path, const std::string& name) const;
  [[nodiscard]] virtual Status write_mark(std::string_view path,
                                          const std::string& name,
                                          const std::string& text) const;
  [[nodiscard]] virtual Status remove_mark(std::string_view path,
                                           const std::string& name) const;

  // The lock that others take on a directory with flock(2), until the
  // descriptor is closed; never waits.
  // Errors: kUnavailable  another holds it.
  [[nodiscard]] Result<UniqueFd> try_lock(std::string_view path) const;
  [[nodiscard]] Result<WriteWatch> watch_writes(std::string_view path) const;

  bool exists(std::string_view path) const;
  [[nodiscard]] Result<uid_t> owner(std::string_view path) const;
  // Whether a file could be written; writes nothing.
  [[nodiscard]] virtual Status check_writable(std::string_view path) const;

 private:
  UniqueFd root_;
};

// Reads fd from its start to its end.
// Errors: kLimit  more than max_bytes;  kNotFound  ENOENT, ESRCH;  kIo.
[[nodiscard]] Result<std::string> read_all(int fd, size_t max_bytes,
                                           const std::string& name);

}  // namespace penstock
