// The caches on this node: lists them, and removes unused ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "loader/cache/cache_folder.h"

namespace penstock {

struct CacheFacts {
  std::string name;
  std::string path;
  std::string data_set;
  // Only name, path and memory_bytes are set: the file is of another version of
  // Penstock, damaged, or unreadable.
  bool is_unknown = false;
  uint64_t samples = 0;  // of the data set
  uint64_t ready_samples = 0;
  uint64_t ready_bytes = 0;
  uint64_t memory_bytes = 0;  // memory that the file takes
  uint64_t hits = 0;
  uint64_t hit_bytes = 0;
  uint64_t misses = 0;
  uint64_t dropped = 0;
  uint64_t damaged = 0;
  uint64_t created_s = 0;  // since 1970
  uint64_t used_s = 0;     // last use, since 1970; accurate to 10 s
  uint64_t keep_s = 0;
  uint32_t processes = 0;  // number of processes that use it
};

// The caches of a folder, sorted by name: its regular files with an allowed
// cache name. Empty if the folder does not exist.
// Errors: those of open_cache_folder()
[[nodiscard]] Result<std::vector<CacheFacts>> list_caches(
    const CacheOwner& owner);

// Removes a cache's name. Processes that use the cache keep it until they end.
// Errors: kNotFound; kInvalidArgument  the name is not allowed;
//         kPermissionDenied, kIo
[[nodiscard]] Status drop_cache(const CacheOwner& owner,
                                const std::string& name);

// Removes the cache if it is unused and holds no sample.
void drop_empty_cache(const CacheOwner& owner, const std::string& name);

// Removes the caches (or the shares, by their ending) that were unused for
// their keep_s.
void sweep_caches(const CacheOwner& owner,
                  std::string_view ending = kCacheFileEnding);

}  // namespace penstock
