#include "common/hand_over.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "common/unique_fd.h"
#include "common/units.h"

namespace penstock {
namespace {

Result<std::vector<std::string>> names_in(int dir_fd, const std::string& what) {
  const int fd = ::openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(
      fd < 0 ? nullptr : ::fdopendir(fd), ::closedir);
  if (!stream) {
    const int error = errno;
    const UniqueFd closer(fd);
    return system_error(error, what);
  }
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    // Of the file system itself.
    const bool is_its_own = name == "." || name == ".." ||
                            name == "lost+found" || name.starts_with(".nfs");
    if (!is_its_own) names.emplace_back(name);
  }
  return names;
}

// Not a link, nor a file that has another name too: the new owner may have had
// the directory before.
bool is_roots_file(int dir_fd, const std::string& name) {
  struct stat found {};
  return ::fstatat(dir_fd, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 &&
         found.st_uid == 0 && found.st_nlink == 1 &&
         (S_ISREG(found.st_mode) || S_ISSOCK(found.st_mode));
}

Status give_files(int dir_fd, const std::vector<std::string>& names,
                  uid_t owner, const std::string& what) {
  for (const std::string& name : names) {
    if (!is_roots_file(dir_fd, name)) continue;
    if (::fchownat(dir_fd, name.c_str(), owner, gid_t(-1),
                   AT_SYMLINK_NOFOLLOW) != 0 &&
        errno != ENOENT) {
      return system_error(errno, what + "/" + name);
    }
  }
  return Done{};
}

// A directory in the directory, with its files, if only root can have put them
// there; anything else stays as it is.
Status give_inner(int dir_fd, const std::string& name, uid_t owner,
                  const std::string& what) {
  const UniqueFd inner(::openat(
      dir_fd, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  struct stat found {};
  if (!inner || ::fstat(inner.get(), &found) != 0 || found.st_uid != 0 ||
      (found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Done{};
  }
  const std::string inner_what = what + "/" + name;
  const Result<std::vector<std::string>> names =
      names_in(inner.get(), inner_what);
  if (!names) return names.error();
  if (Status given = give_files(inner.get(), *names, owner, inner_what);
      !given) {
    return given;
  }
  if (::fchown(inner.get(), owner, gid_t(-1)) == 0) return Done{};
  return system_error(errno, inner_what);
}

}  // namespace

// Nobody but root can have put anything into the directory before.
Status hand_over(const std::string& path, const std::string& what, uid_t owner,
                 const std::function<bool(std::string_view name)>& is_ours) {
  const UniqueFd dir(
      ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!dir && errno == ENOENT) return Done{};
  struct stat found {};
  if (!dir || ::fstat(dir.get(), &found) != 0) {
    return system_error(errno, what);
  }
  if (found.st_uid != 0 || owner == 0) return Done{};
  const std::string user = std::to_string(owner);
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Error{
        Code::kPermissionDenied, 0,
        what + ": others than root may write there; run: chmod go-w " + path};
  }
  const Result<std::vector<std::string>> names = names_in(dir.get(), what);
  if (!names) return names.error();
  for (const std::string& name : *names) {
    if (is_ours(name)) continue;
    return Error{Code::kPermissionDenied, 0,
                 what + ": has other files too, such as " + printable(name) +
                     ", and stays root's; set a directory of its own, or run: "
                     "chown " +
                     user + " " + path};
  }
  if (Status given = give_files(dir.get(), *names, owner, what); !given) {
    return given;
  }
  for (const std::string& name : *names) {
    if (Status given = give_inner(dir.get(), name, owner, what); !given) {
      return given;
    }
  }
  if (::fchown(dir.get(), owner, gid_t(-1)) != 0) {
    return system_error(errno, what);
  }
  return Done{};
}

}  // namespace penstock
