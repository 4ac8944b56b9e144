#include <sys/stat.h>
#include <unistd.h>

#include <ctime>

#include "common/cache_files.h"
#include "loader/cache/shared_file.h"
#include "loader/staging/stage_file.h"

namespace penstock {

// No file in creation can be removed here: it has a member before its name.
void sweep_shares(const CacheOwner& owner) {
  const std::string path = cache_folder_path(owner);
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return;
  const auto folder = open_cache_folder(owner);
  if (!folder) return;
  const auto now_s = static_cast<uint64_t>(::time(nullptr));
  for (const std::string& name :
       names_ending(folder->get(), kStageFileEnding)) {
    (void)remove_if_left(folder->get(), name, UINT64_MAX, now_s);
  }
  (void)::rmdir(path.c_str());  // if nothing is left
}

}  // namespace penstock
