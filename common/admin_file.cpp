#include "common/admin_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "common/reader_acl.h"
#include "common/whole_file.h"

namespace penstock {
namespace {

Error not_of(uid_t user, const std::string& what) {
  const std::string us = user == 0 ? "root" : "user " + std::to_string(user);
  return Error{
      Code::kPermissionDenied, 0,
      what + ": must belong to " + us + " and be writable by " + us + " alone"};
}

Status admit_reader(int fd, const Replacement& file) {
  if (file.reader == uid_t(-1) || file.reader == ::geteuid()) return Done{};
  Status admitted = let_read(fd, file.reader);
  if (!admitted && admitted.error().code == Code::kUnavailable) {
    // Root alone can give it away. Else the caller keeps it, rather than
    // nobody.
    if (::fchown(fd, file.reader, -1) == 0 || errno == EPERM) return Done{};
  }
  if (!admitted) return std::move(admitted).error().wrap(file.name);
  return Done{};
}

Status fill(int fd, const Replacement& file, std::string_view text) {
  if (const int error = write_whole(fd, text); error != 0) {
    return system_error(error, "cannot write " + file.name);
  }
  // The reader is admitted last, so that no user can read an incomplete file.
  if (::fchmod(fd, file.mode) != 0) {
    return system_error(errno, "cannot set the mode of " + file.name);
  }
  if (Status admitted = admit_reader(fd, file); !admitted) return admitted;
  if (file.sync && ::fsync(fd) != 0) {
    return system_error(errno, "cannot sync " + file.name);
  }
  return Done{};
}

}  // namespace

Result<UniqueFd> open_admin_directory(const std::string& path,
                                      const std::string& what, uid_t owner) {
  if (owner == uid_t(-1)) owner = ::geteuid();
  UniqueFd dir(
      ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!dir) return system_error(errno, what);
  struct stat found {};
  if (::fstat(dir.get(), &found) != 0 || found.st_uid != owner ||
      (found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return not_of(owner, what);
  }
  return dir;
}

Result<std::string> read_admin_file(const std::string& path) {
  constexpr off_t kMaxBytes = off_t{64} * 1024;
  UniqueFd file(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return system_error(errno, path);
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return system_error(errno, path);
  if (!S_ISREG(found.st_mode) || found.st_size > kMaxBytes) {
    return Error{Code::kLimit, 0,
                 path + ": not a regular file of at most 64 KiB"};
  }
  if ((found.st_uid != 0 && found.st_uid != ::geteuid()) ||
      (found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return not_of(::geteuid(), path);
  }
  std::string text;
  const int error = read_whole(file.get(), kMaxBytes, text);
  if (error != 0) return system_error(error, path);
  return text;
}

Status replace_file(const Replacement& file, std::string_view text) {
  const char* aside = file.aside.c_str();
  if (::unlinkat(file.dir_fd, aside, 0) != 0 && errno != ENOENT) {
    return system_error(errno,
                        "cannot remove the left-over file " + file.aside);
  }
  const UniqueFd fd(::openat(
      file.dir_fd, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
      file.mode));
  if (!fd) return system_error(errno, "cannot create " + file.aside);
  Status done = fill(fd.get(), file, text);
  if (done &&
      ::renameat(file.dir_fd, aside, file.dir_fd, file.name.c_str()) != 0) {
    done =
        system_error(errno, "cannot rename " + file.aside + " to " + file.name);
  }
  if (!done) ::unlinkat(file.dir_fd, aside, 0);
  return done;
}

}  // namespace penstock
