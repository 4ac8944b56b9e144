// Removes the loaders' caches of samples, and batches that jobs shared, that
// nobody uses any more: their memory belongs to no job.
#pragma once

#include <dirent.h>

#include <cstdint>
#include <memory>
#include <string>

#include "common/cache_files.h"

namespace penstock {

// Looks at base's folders penstock-cache-UID of user UID with mode 0700, and
// penstock-cache-gGID of group GID with mode 2770, and in them at what
// remove_if_left() does. Whatever else is there is not touched, no link and no
// mount is entered. Needs openat2(2) (Linux 5.6); without it nothing is
// removed.
class CacheSweep {
 public:
  // Of base, in one run; of each folder. What users put there costs no more:
  // base is gone on with by the next run, and what a folder has beyond is its
  // user's own loss.
  static constexpr int kMostEntries = 4096;
  static constexpr int kMostFiles = 256;

  explicit CacheSweep(std::string base = kCacheBase);

  // now_s: since 1970. Returns how many caches went.
  uint64_t run(uint64_t most_keep_s, uint64_t now_s);

 private:
  struct CloseDirectory {
    void operator()(DIR* directory) const { ::closedir(directory); }
  };
  using Directory = std::unique_ptr<DIR, CloseDirectory>;
  static Directory open_folder(int parent, const std::string& name);
  uint64_t sweep_folder(const std::string& name, uint64_t most_keep_s,
                        uint64_t now_s) const;

  const std::string base_;
  Directory root_;  // where the last run has stopped
};

}  // namespace penstock
