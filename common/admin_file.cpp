#include "common/admin_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "common/whole_file.h"

namespace penstock {

Result<UniqueFd> open_admin_directory(const std::string& path,
                                      const std::string& what) {
  UniqueFd dir(
      ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!dir) return system_error(errno, what);
  struct stat found {};
  if (::fstat(dir.get(), &found) != 0 || found.st_uid != ::geteuid() ||
      (found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Error{Code::kPermissionDenied, 0,
                 what + ": must belong to root and be writable by root alone"};
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
    return Error{Code::kPermissionDenied, 0,
                 path + ": must belong to root and be writable by root alone"};
  }
  std::string text;
  const int error = read_whole(file.get(), kMaxBytes, text);
  if (error != 0) return system_error(error, path);
  return text;
}

}  // namespace penstock
