#include "common/cache_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "common/unique_fd.h"

namespace penstock {
namespace {

static_assert(kCacheMagicText.size() == kStageMagicText.size());

bool is_magic(std::string_view text) {
  return text == kCacheMagicText || text == kStageMagicText;
}

}  // namespace

bool shut_out_cache_members(int fd) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kCacheLocksOffset;
  lock.l_len = kCacheMembers;
  return ::fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

void remove_cache_file(int folder, const std::string& name, int fd) {
  struct stat own {
  }, named{};
  if (::fstat(fd, &own) == 0 &&
      ::fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
      own.st_ino == named.st_ino) {
    (void)::unlinkat(folder, name.c_str(), 0);
  }
}

bool remove_if_left(int folder, const std::string& name, uint64_t most_keep_s,
                    uint64_t now_s) {
  const UniqueFd fd(::openat(folder, name.c_str(),
                             O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  char magic[kCacheMagicText.size()] = {};
  uint64_t keep_s = 0;
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      ::pread(fd.get(), magic, sizeof magic, 0) != ssize_t(sizeof magic) ||
      !is_magic({magic, sizeof magic}) ||
      ::pread(fd.get(), &keep_s, sizeof keep_s, kCacheKeepOffset) !=
          ssize_t(sizeof keep_s)) {
    return false;
  }
  const auto used_s =
      static_cast<uint64_t>(std::max<time_t>(0, status.st_mtim.tv_sec));
  // A last use in the future: the clock went back, or a user set the mtime.
  keep_s = std::min(keep_s, most_keep_s);
  const bool is_kept =
      used_s <= now_s ? now_s - used_s < keep_s : used_s - now_s < keep_s;
  if (is_kept || !shut_out_cache_members(fd.get())) return false;
  remove_cache_file(folder, name, fd.get());
  return true;
}

}  // namespace penstock
