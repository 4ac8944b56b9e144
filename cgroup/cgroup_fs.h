// All of Penstock's access to /sys/fs/cgroup, relative to one directory fd.
// Tests use a temporary tree; no path can leave the tree.
//
// A path is relative ("cpuset/penstock/job_7"); "" is the root itself; a
// leading or doubled '/' is ignored. "." and ".." are refused, and no component
// may be a symbolic link. Functions are virtual so that tests inject failures.
// Thread-safe, except for moving the object.
//
// Errors of every function: kInvalidArgument  "." or ".." in the path;
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

// Reports whether a file was written to since the last call (at first: since
// construction).
class WriteWatch {
 public:
  explicit WriteWatch(UniqueFd inotify) : inotify_(std::move(inotify)) {}
  bool was_written() const;

 private:
  UniqueFd inotify_;
};

class CgroupFs {
 public:
  // Larger files give kLimit. A pid list of 100,000 threads has 700 KiB.
  static constexpr size_t kMaxFileBytes = 1 << 20;
  static constexpr size_t kMaxMarkBytes = 1 << 16;  // the kernel's limit

  // root_fd: an open directory.
  explicit CgroupFs(UniqueFd root_fd) : root_(std::move(root_fd)) {}
  // Opens the directory at an absolute path of the machine.
  static Result<UniqueFd> open_root(const std::string& path);

  CgroupFs(CgroupFs&&) = default;
  CgroupFs& operator=(CgroupFs&&) = default;
  virtual ~CgroupFs() = default;

  // Opens a directory (O_PATH) or a file (read-only) for repeated use.
  [[nodiscard]] virtual Result<UniqueFd> open_dir(std::string_view path) const;
  [[nodiscard]] virtual Result<UniqueFd> open_file(std::string_view path) const;

  // The user who makes our groups. Others may have groups of the same names.
  virtual uid_t maker() const { return ::geteuid(); }

  // Creates one directory, mode 0755; its parent must exist. Done if the
  // directory exists and is the caller's. kPermissionDenied if it is another
  // user's, who may have made it in a delegated tree, and could change it.
  [[nodiscard]] virtual Status make_dir(std::string_view path) const;
  // Removes one empty directory. Done if there is none.
  [[nodiscard]] virtual Status remove_dir(std::string_view path) const;

  // Returns the whole file.
  [[nodiscard]] virtual Result<std::string> read_file(
      std::string_view path) const;
  // Writes text with one write(2), as control files require; a short write
  // gives kIo. The file must exist.
  [[nodiscard]] virtual Status write_file(std::string_view path,
                                          std::string_view text) const;

  // Names of path's subdirectories, sorted; without hidden ones.
  [[nodiscard]] virtual Result<std::vector<std::string>> list_dirs(
      std::string_view path) const;

  // A mark is a short text attached to a directory (extended attribute
  // trusted.NAME); it disappears with the directory. read_mark gives kNotFound
  // if there is no such mark; remove_mark is Done then.
  [[nodiscard]] virtual Result<std::string> read_mark(
      std::string_view path, const std::string& name) const;
  [[nodiscard]] virtual Status write_mark(std::string_view path,
                                          const std::string& name,
                                          const std::string& text) const;
  [[nodiscard]] virtual Status remove_mark(std::string_view path,
                                           const std::string& name) const;

  // Takes the exclusive flock(2) lock of a directory, held until the returned
  // fd is closed. Never blocks.
  // Errors: kUnavailable  another process holds the lock.
  [[nodiscard]] Result<UniqueFd> try_lock(std::string_view path) const;
  [[nodiscard]] Result<WriteWatch> watch_writes(std::string_view path) const;

  bool exists(std::string_view path) const;
  [[nodiscard]] Result<uid_t> owner(std::string_view path) const;
  // Checks write permission; writes nothing.
  [[nodiscard]] virtual Status check_writable(std::string_view path) const;

 private:
  UniqueFd root_;
};

// Reads fd from its start to its end.
// Errors: kLimit  more than max_bytes;  kNotFound  ENOENT, ESRCH;  kIo.
[[nodiscard]] Result<std::string> read_all(int fd, size_t max_bytes,
                                           const std::string& name);

}  // namespace penstock
