// Names and locks of a node's sample caches. The loader creates the caches;
// penstockd removes abandoned ones.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

inline constexpr const char* kCacheBase = "/dev/shm";
// BASE/penstock-cache-UID/NAME.cache, or BASE/penstock-cache-gGID/NAME.cache
inline constexpr const char* kCacheFolderPrefix = "penstock-cache-";
inline constexpr const char* kCacheFileEnding = ".cache";
// NAME.stage in the same folder: a share (batches that jobs prepare together),
// with the same locks.
inline constexpr const char* kStageFileEnding = ".stage";

// Each process that uses a cache (a member) locks one byte of kCacheMembers
// bytes far beyond the file's content. The kernel releases the lock when the
// process ends, even after a crash.
inline constexpr uint32_t kCacheMembers = 1024;
inline constexpr off_t kCacheLocksOffset = off_t{1} << 62;

// First bytes of a file of any version; the version follows.
inline constexpr std::string_view kCacheMagicText = "PSCACHE";
inline constexpr std::string_view kStageMagicText = "PSSTAGE";

// Offset of the 8-byte keep time in the file: how many seconds to keep the file
// unused.
inline constexpr uint64_t kCacheKeepOffset = 40;

// Locks the bytes of all members until fd is closed. fd must be open for
// writing. False: the file has a member. Never blocks.
[[nodiscard]] bool shut_out_cache_members(int fd);

// Removes a name from a folder if it still refers to the open file fd.
void remove_cache_file(int folder, const std::string& name, int fd);

// Removes a cache or share of any version if it has no member and its keep time
// has passed since the last use. The keep time is the lower of the file's own
// and most_keep_s. A last use in the future counts as equally long ago.
// Returns false and removes nothing if the file is in use, still kept, or
// neither a cache nor a share. Follows no symbolic link; never blocks.
// now_s: seconds since 1970.
bool remove_if_left(int folder, const std::string& name, uint64_t most_keep_s,
                    uint64_t now_s);

}  // namespace penstock
