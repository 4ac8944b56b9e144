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

// $PENSTOCK_CACHE_DIR where it is set and not empty.
CacheOwner own_cache_folder(const std::optional<gid_t>& group = std::nullopt);

// Of a group's name or number.
// Errors: kNotFound  there is no such group
[[nodiscard]] Result<gid_t> cache_group(const std::string& group);

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

// Why a cache's file cannot be opened or removed, by errno; of a link or a
// folder in its place, with what to do.
Error cache_file_error(int error, const std::string& path);

}  // namespace penstock
