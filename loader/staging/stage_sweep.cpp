#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string_view>
#include <vector>

#include "common/cache_files.h"
#include "loader/staging/stage_file.h"

namespace penstock {
namespace {

struct CloseStageFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

std::vector<std::string> stage_files(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, CloseStageFolder> entries(
      ::opendir(folder.c_str()));
  if (!entries) return names;
  while (const dirent* entry = ::readdir(entries.get())) {
    if (std::string_view(entry->d_name).ends_with(kStageFileEnding)) {
      names.emplace_back(entry->d_name);
    }
  }
  return names;
}

}  // namespace

// A file gets its name when it has a member, and not before.
void sweep_shares(const CacheOwner& owner) {
  const std::string path = cache_folder_path(owner);
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return;
  const auto folder = open_cache_folder(owner);
  if (!folder) return;
  for (const std::string& name : stage_files(path)) {
    const UniqueFd fd(::openat(folder->get(), name.c_str(),
                               O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (fd && shut_out_cache_members(fd.get())) {
      remove_cache_file(folder->get(), name, fd.get());
    }
  }
  (void)::rmdir(path.c_str());  // if nothing is left
}

}  // namespace penstock
