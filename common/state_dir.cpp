#include "common/state_dir.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "common/admin_file.h"

namespace penstock {

Result<UniqueFd> open_state_dir(const std::string& path) {
  const bool is_made = ::mkdir(path.c_str(), 0755) == 0;
  if (!is_made && errno != EEXIST) {
    return system_error(errno, "StateDir=" + path);
  }
  Result<UniqueFd> dir = open_admin_directory(path, "StateDir=" + path);
  // Jobs connect to a socket in this directory: override the umask.
  if (is_made && dir) (void)::fchmod(dir->get(), 0755);
  return dir;
}

Result<std::optional<double>> off_since_unix_s(int state_dir_fd) {
  struct stat found {};
  if (::fstatat(state_dir_fd, kOffMark, &found, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::optional<double>();
    return system_error(errno, kOffMark);
  }
  return std::optional(double(found.st_mtim.tv_sec) +
                       double(found.st_mtim.tv_nsec) * 1e-9);
}

Result<double> mark_off(int state_dir_fd) {
  const UniqueFd file(::openat(state_dir_fd, kOffMark,
                               O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                               0644));
  // fsync: the mark must survive a crash of the machine.
  if (!file || ::fsync(state_dir_fd) != 0) return system_error(errno, kOffMark);
  Result<std::optional<double>> since = off_since_unix_s(state_dir_fd);
  if (!since) return std::move(since).error();
  return since->value_or(0);
}

Status unmark_off(int state_dir_fd) {
  if (::unlinkat(state_dir_fd, kOffMark, 0) != 0 && errno != ENOENT) {
    return system_error(errno, kOffMark);
  }
  if (::fsync(state_dir_fd) != 0) return system_error(errno, kOffMark);
  return Done{};
}

}  // namespace penstock
