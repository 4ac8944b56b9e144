// Location of a user's caches on this node: files in a tmpfs folder that only
// the user, or a group, can access.
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
  std::optional<gid_t> group;  // its members share the caches
};

// The calling user's. base is $PENSTOCK_CACHE_DIR if set and not empty.
CacheOwner own_cache_folder(const std::optional<gid_t>& group = std::nullopt);

// group: a name or a number.
// Errors: kNotFound  no such group
[[nodiscard]] Result<gid_t> cache_group(const std::string& group);

// BASE/penstock-cache-UID, or BASE/penstock-cache-gGID.
std::string cache_folder_path(const CacheOwner& owner);

// Opens the folder, and creates it if it does not exist.
// Errors: kPermissionDenied  it belongs to somebody else, or others can access
//         it; kInvalidArgument  base is not a tmpfs;
//         kUnavailable  it is being removed; kNotFound, kIo
[[nodiscard]] Result<UniqueFd> open_cache_folder(const CacheOwner& owner);

// NAME.cache, the file name of the cache `name`.
// Errors: kInvalidArgument  not 1 to 64 letters, digits, dots, dashes and
//         underscores, or a leading dot
[[nodiscard]] Result<std::string> cache_file_name(const std::string& name);

// The error of opening or removing a cache's file, by errno. For a link or a
// folder in its place the message says what to do.
Error cache_file_error(int error, const std::string& path);

}  // namespace penstock
