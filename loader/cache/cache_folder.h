// Where a user's caches are on this node: files of a tmpfs in a folder that
// only the user, or a group, can get at.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "common/cache_files.h"
#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

struct CacheOwner {
  std::string base = kCacheBase;
  uid_t user = 0;
  std::optional<gid_t> group;  // whose members share the caches
};

// $PENSTOCK_CACHE_DIR where it is set.
CacheOwner own_cache_folder(const std::optional<gid_t>& group = std::nullopt);

// BASE/penstock-cache-UID, or BASE/penstock-cache-gGID.
std::string cache_folder_path(const CacheOwner& owner);

// The folder, which is made where it is not there.
// Errors: kPermissionDenied  the name is taken by somebody else, or others can
//         get at it; kInvalidArgument  base is no tmpfs;
//         kUnavailable  it is just being removed; kNotFound, kIo
[[nodiscard]] Result<UniqueFd> open_cache_folder(const CacheOwner& owner);

// Names of the caches in an open folder are NAME.cache.
// Errors: kInvalidArgument  not 1 to 64 letters, digits, dots, dashes and
//         underscores, or a dot in front
[[nodiscard]] Result<std::string> cache_file_name(const std::string& name);

}  // namespace penstock
