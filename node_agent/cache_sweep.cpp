#include "node_agent/cache_sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "common/unique_fd.h"

namespace penstock {
namespace {

// Users may put as much there as they like: the rest waits for the next time.
constexpr size_t kMostEntries = 1024;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

UniqueFd open_folder_at(int parent, const std::string& name) {
  return UniqueFd(::openat(parent, name.c_str(),
                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::vector<std::string> entries_of(int folder, std::string_view begin,
                                    std::string_view end) {
  std::vector<std::string> names;
  UniqueFd copy = open_folder_at(folder, ".");
  if (!copy) return names;
  const std::unique_ptr<DIR, CloseDirectory> directory(::fdopendir(copy.get()));
  if (!directory) return names;
  (void)copy.release();  // the directory's now
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name.starts_with(begin) && name.ends_with(end) &&
        names.size() < kMostEntries) {
      names.emplace_back(name);
    }
  }
  return names;
}

bool remove_if_left(int folder, const std::string& name, uint64_t most_keep_s,
                    uint64_t now_s) {
  // A fifo, or whatever else a user has put there, is not waited for.
  const UniqueFd fd(::openat(folder, name.c_str(),
                             O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  uint64_t keep_s = 0;
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      ::pread(fd.get(), &keep_s, sizeof keep_s, kCacheKeepOffset) !=
          ssize_t(sizeof keep_s)) {
    return false;
  }
  const auto used_s =
      static_cast<uint64_t>(std::max<time_t>(0, status.st_mtim.tv_sec));
  const uint64_t idle_s = now_s - std::min(now_s, used_s);
  if (idle_s < std::min(keep_s, most_keep_s) ||
      !shut_out_cache_members(fd.get())) {
    return false;
  }
  remove_cache_file(folder, name, fd.get());
  return true;
}

}  // namespace

uint64_t remove_left_caches(uint64_t most_keep_s, uint64_t now_s,
                            const std::string& base) {
  const UniqueFd root = open_folder_at(AT_FDCWD, base);
  if (!root) return 0;
  uint64_t removed = 0;
  for (const std::string& name :
       entries_of(root.get(), kCacheFolderPrefix, "")) {
    const UniqueFd folder = open_folder_at(root.get(), name);
    if (!folder) continue;
    for (const std::string& file :
         entries_of(folder.get(), "", kCacheFileEnding)) {
      if (remove_if_left(folder.get(), file, most_keep_s, now_s)) ++removed;
    }
    // With its last cache; else it is not empty, and stays.
    if (removed > 0) {
      (void)::unlinkat(root.get(), name.c_str(), AT_REMOVEDIR);
    }
  }
  return removed;
}

}  // namespace penstock
