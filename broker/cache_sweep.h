// Removes sample caches and shared batches that no process uses any more. Their
// memory belongs to no job, so nothing else frees it.
#pragma once

#include <dirent.h>

#include <cstdint>
#include <memory>
#include <string>

#include "common/cache_files.h"

namespace penstock {

// Sweeps the folders penstock-cache-UID (owner UID, mode 0700) and
// penstock-cache-gGID (group GID, mode 2770) in `base`, with remove_if_left()
// for each cache file. Everything else is left alone; links and mount points
// are not followed.
//
// Needs openat2(2) (Linux 5.6); without it nothing is removed.
class CacheSweep {
 public:
  // Limits of one run: entries of base, and files of each folder. They bound
  // the cost of what users put there. The next run continues in base; files
  // beyond kMostFiles in a folder are never swept.
  static constexpr int kMostEntries = 4096;
  static constexpr int kMostFiles = 256;

  explicit CacheSweep(std::string base = kCacheBase);

  // now_s: seconds since 1970. Returns the number of caches removed.
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
  Directory root_;  // position at which the last run stopped
};

}  // namespace penstock
