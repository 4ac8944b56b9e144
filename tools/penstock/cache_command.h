// What `penstock cache warm` says of the site's configuration.
#pragma once

#include <cstdint>
#include <string>

#include "loader/cache/cache_folder.h"

namespace penstock {

// A warning if penstockd, with that configuration, removes the owner's cache
// before keep_s; "": no configuration, or no difference.
std::string shorter_keep(const CacheOwner& owner, uint64_t keep_s,
                         const std::string& config_path);

}  // namespace penstock
