#include "loader/cache/cache_folder.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>

#include "common/cache_files.h"
#include "common/units.h"

namespace penstock {
namespace {

constexpr mode_t kUserMode = 0700;
constexpr mode_t kGroupMode = 02770;
constexpr size_t kMostNameBytes = 64;

mode_t mode_of(const CacheOwner& owner) {
  return owner.group ? kGroupMode : kUserMode;
}

Error bad_base(Error error) {
  error.message += "; set PENSTOCK_CACHE_DIR to a tmpfs that you may write to";
  return error;
}

Status check_tmpfs(const std::string& base) {
  struct statfs facts {};
  if (::statfs(base.c_str(), &facts) != 0) {
    return bad_base(system_error(errno, base));
  }
  if (static_cast<unsigned long>(facts.f_type) == TMPFS_MAGIC) return Done{};
  return bad_base(invalid(base + ": no tmpfs; a cache has to be in memory"));
}

Error not_ours(const std::string& path, const struct stat& found,
               const CacheOwner& owner) {
  return {Code::kPermissionDenied, 0,
          path + ": belongs to user " + std::to_string(found.st_uid) +
              ", group " + std::to_string(found.st_gid) +
              ", or others can get at it: wanted is a folder of " +
              (owner.group
                   ? "group " + std::to_string(*owner.group) + " with mode 2770"
                   : "user " + std::to_string(owner.user) + " with mode 0700") +
              "; have it removed, or set PENSTOCK_CACHE_DIR to another tmpfs"};
}

// Refuses a folder with another owner or mode.
Result<UniqueFd> open_existing(const std::string& path,
                               const CacheOwner& owner) {
  UniqueFd fd(
      ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat found {};
  if (!fd && (errno == ELOOP || errno == ENOTDIR || errno == EACCES) &&
      ::lstat(path.c_str(), &found) == 0) {
    return not_ours(path, found, owner);
  }
  if (!fd || ::fstat(fd.get(), &found) != 0) return system_error(errno, path);
  const bool is_whose =
      owner.group ? found.st_gid == *owner.group : found.st_uid == owner.user;
  if (is_whose && (found.st_mode & 07777) == mode_of(owner)) return fd;
  return not_ours(path, found, owner);
}

// The folder gets its name last, so nobody sees it with another owner or mode.
Status make_folder(const std::string& path, const CacheOwner& owner) {
  std::string draft = path + ".XXXXXX";
  if (::mkdtemp(draft.data()) == nullptr) {
    return bad_base(system_error(errno, "cannot make " + path));
  }
  int error = 0;
  if (owner.group && ::chown(draft.c_str(), uid_t(-1), *owner.group) != 0) {
    error = errno;
  }
  if (error == 0 && ::chmod(draft.c_str(), mode_of(owner)) != 0) error = errno;
  if (error == 0 && ::syscall(SYS_renameat2, AT_FDCWD, draft.c_str(), AT_FDCWD,
                              path.c_str(), RENAME_NOREPLACE) != 0) {
    error = errno;
  }
  if (error != 0) (void)::rmdir(draft.c_str());
  if (error == 0 || error == EEXIST) return Done{};
  return system_error(error, "cannot make " + path);
}

}  // namespace

CacheOwner own_cache_folder(const std::optional<gid_t>& group) {
  CacheOwner owner{.user = ::geteuid(), .group = group};
  const char* base = std::getenv("PENSTOCK_CACHE_DIR");
  if (base != nullptr && *base != '\0') owner.base = base;
  return owner;
}

// UINT32_MAX is excluded: chown(2) takes it as "no change".
Result<gid_t> cache_group(const std::string& group) {
  if (const auto number = parse_uint(group, 0, UINT32_MAX - 1)) {
    return gid_t(*number);
  }
  const struct group* found = ::getgrnam(group.c_str());
  if (found != nullptr) return found->gr_gid;
  return Error{Code::kNotFound, 0, quoted(group) + ": there is no such group"};
}

std::string cache_folder_path(const CacheOwner& owner) {
  return owner.base + "/" + kCacheFolderPrefix +
         (owner.group ? "g" + std::to_string(*owner.group)
                      : std::to_string(owner.user));
}

Result<UniqueFd> open_cache_folder(const CacheOwner& owner) {
  if (Status memory = check_tmpfs(owner.base); !memory) {
    return std::move(memory).error();
  }
  const std::string path = cache_folder_path(owner);
  auto folder = open_existing(path, owner);
  if (folder || folder.error().code != Code::kNotFound) return folder;
  if (Status made = make_folder(path, owner); !made) {
    return std::move(made).error();
  }
  folder = open_existing(path, owner);
  if (folder || folder.error().code != Code::kNotFound) return folder;
  // Another process has removed it with its last cache.
  return Error{Code::kUnavailable, ENOENT, path + ": is being removed"};
}

Result<std::string> cache_file_name(const std::string& name) {
  const bool is_plain = std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '.' ||
           c == '-' || c == '_';
  });
  if (is_plain && !name.empty() && name.size() <= kMostNameBytes &&
      name[0] != '.') {
    return name + kCacheFileEnding;
  }
  return invalid("cache name \"" + name +
                 "\"; allowed: 1 to 64 letters, digits, dots, dashes and "
                 "underscores, no dot in front");
}

Error cache_file_error(int error, const std::string& path) {
  if (error != ELOOP && error != EISDIR) return system_error(error, path);
  return {Code::kIo, error,
          path + ": is a " + (error == ELOOP ? "link" : "folder") +
              ", not a cache's file; remove it, or use another name"};
}

}  // namespace penstock
