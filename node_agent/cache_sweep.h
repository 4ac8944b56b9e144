// Removes the loaders' caches of samples that nobody uses any more: their
// memory belongs to no job.
#pragma once

#include <cstdint>
#include <string>

#include "common/cache_files.h"

namespace penstock {

// Looks at base's folders penstock-cache-*, which are their users', and at the
// files in them that are called as caches are. One that no process has locked,
// and that was not used for as long as its user or the admin (most_keep_s)
// keeps it, whichever is less, goes; nothing else is touched, no link is
// followed. now_s: since 1970. Returns how many went.
uint64_t remove_left_caches(uint64_t most_keep_s, uint64_t now_s,
                            const std::string& base = kCacheBase);

}  // namespace penstock
