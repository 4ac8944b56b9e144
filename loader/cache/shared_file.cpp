#include "loader/cache/shared_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

namespace penstock {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

}  // namespace

std::vector<std::string> names_ending(int folder, std::string_view ending) {
  std::vector<std::string> names;
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, CloseFolder> entries(copy >= 0 ? ::fdopendir(copy)
                                                            : nullptr);
  if (!entries) return names;
  while (const dirent* entry = ::readdir(entries.get())) {
    if (std::string_view(entry->d_name).ends_with(ending)) {
      names.emplace_back(entry->d_name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace penstock
