// The caches that are on this node: what they hold, and the end of those that
// nobody uses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/result.h"
#include "loader/cache/cache_folder.h"

namespace penstock {

struct CacheFacts {
  std::string name;
  std::string path;
  std::string data_set;
  // No more is known than its name, path and memory_bytes: it is of another
  // version of Penstock, damaged, or cannot be read.
  bool is_unknown = false;
  uint64_t samples = 0;  // of the data set
  uint64_t ready_samples = 0;
  uint64_t ready_bytes = 0;
  uint64_t memory_bytes = 0;  // that the file takes
  uint64_t hits = 0;
  uint64_t hit_bytes = 0;
  uint64_t misses = 0;
  uint64_t dropped = 0;
  uint64_t damaged = 0;
  uint64_t created_s = 0;  // since 1970
  uint64_t used_s = 0;     // likewise, to within 10 s
  uint64_t keep_s = 0;
  uint32_t processes = 0;  // that use it
};

// The caches of a folder, by name: its regular files that are called as caches
// may be. A folder that is not there has none.
// Errors: those of open_cache_folder()
[[nodiscard]] Result<std::vector<CacheFacts>> list_caches(
    const CacheOwner& owner);

// Removes a cache's name; processes that use it go on with it until they end.
// Errors: kNotFound; kInvalidArgument  no such name is allowed;
//         kPermissionDenied, kIo
[[nodiscard]] Status drop_cache(const CacheOwner& owner,
                                const std::string& name);

// Removes one that nobody uses and that holds no sample.
void drop_empty_cache(const CacheOwner& owner, const std::string& name);

// Removes those that nobody has used for as long as they are kept.
void sweep_caches(const CacheOwner& owner);

}  // namespace penstock
