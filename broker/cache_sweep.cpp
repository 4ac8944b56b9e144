#include "broker/cache_sweep.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string_view>
#include <utility>

#include "common/unique_fd.h"

namespace penstock {
namespace {

constexpr mode_t kUserMode = 0700;
constexpr mode_t kGroupMode = 02770;

// Does not cross mounts: a user's file system might never answer.
UniqueFd open_inside(int parent, const std::string& name) {
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS;
  return UniqueFd(static_cast<int>(
      ::syscall(SYS_openat2, parent, name.c_str(), &how, sizeof how)));
}

// Only the loader's folders match. The name contains the owner's id, so no user
// can claim another user's folder.
bool is_cache_folder(const std::string& name, const struct stat& status) {
  const mode_t mode = status.st_mode & 07777;
  const std::string prefix = kCacheFolderPrefix;
  return (mode == kUserMode &&
          name == prefix + std::to_string(status.st_uid)) ||
         (mode == kGroupMode &&
          name == prefix + "g" + std::to_string(status.st_gid));
}

}  // namespace

CacheSweep::CacheSweep(std::string base) : base_(std::move(base)) {}

CacheSweep::Directory CacheSweep::open_folder(int parent,
                                              const std::string& name) {
  UniqueFd fd = open_inside(parent, name);
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0 ||
      !is_cache_folder(name, status)) {
    return nullptr;
  }
  Directory folder(::fdopendir(fd.get()));
  if (folder) (void)fd.release();  // owned by `folder` now
  return folder;
}

uint64_t CacheSweep::sweep_folder(const std::string& name, uint64_t most_keep_s,
                                  uint64_t now_s) const {
  const int root = ::dirfd(root_.get());
  const Directory folder = open_folder(root, name);
  if (!folder) return 0;
  uint64_t removed = 0;
  for (int i = 0; i < kMostFiles; ++i) {
    const dirent* entry = ::readdir(folder.get());
    if (entry == nullptr) break;
    const std::string file = entry->d_name;
    const bool is_ours =
        file.ends_with(kCacheFileEnding) || file.ends_with(kStageFileEnding);
    if (is_ours &&
        remove_if_left(::dirfd(folder.get()), file, most_keep_s, now_s)) {
      ++removed;
    }
  }
  // Removes the folder with its last cache; fails if the folder is not empty.
  if (removed > 0) (void)::unlinkat(root, name.c_str(), AT_REMOVEDIR);
  return removed;
}

uint64_t CacheSweep::run(uint64_t most_keep_s, uint64_t now_s) {
  if (!root_) root_.reset(::opendir(base_.c_str()));
  if (!root_) return 0;
  uint64_t removed = 0;
  for (int i = 0; i < kMostEntries; ++i) {
    const dirent* entry = ::readdir(root_.get());
    if (entry == nullptr) {
      root_.reset();  // the next run starts over
      break;
    }
    const std::string name = entry->d_name;
    if (name.starts_with(kCacheFolderPrefix)) {
      removed += sweep_folder(name, most_keep_s, now_s);
    }
  }
  return removed;
}

}  // namespace penstock
