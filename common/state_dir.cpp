#include "common/state_dir.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/admin_file.h"
#include "common/hand_over.h"

namespace penstock {

namespace {

// penstockd's files; the sockets are its own and those of earlier releases.
constexpr std::string_view kNames[] = {
    "lock", "off", "term", "term.new", "tasks.json", "tasks.json.new"};

bool is_state(std::string_view name) {
  return name.ends_with(".sock") || name.starts_with("part.") ||
         std::find(std::begin(kNames), std::end(kNames), name) !=
             std::end(kNames);
}

std::string named(const std::string& path) { return "StateDir=" + path; }

Status make(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0) {
    return errno == EEXIST ? Status(Done{}) : system_error(errno, named(path));
  }
  // Jobs connect to a socket in this directory: override the umask. Nobody can
  // have replaced it, as its parent is the caller's.
  if (::chmod(path.c_str(), 0755) != 0) return system_error(errno, named(path));
  return Done{};
}

}  // namespace

Status give_state_dir(const std::string& path, uid_t owner,
                      const std::string& socket_path) {
  Status made = make(path);
  if (!made) return made;
  return hand_over(path, named(path), owner, [&](std::string_view name) {
    return is_state(name) ||
           name ==
               std::string_view(socket_path).substr(socket_path.rfind('/') + 1);
  });
}

Result<UniqueFd> open_state_dir(const std::string& path, uid_t owner) {
  if (Status made = make(path); !made) return made.error();
  return open_admin_directory(path, named(path), owner);
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
