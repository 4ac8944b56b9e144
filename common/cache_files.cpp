#include "common/cache_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace penstock {

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

}  // namespace penstock
