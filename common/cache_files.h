// What a node's caches of samples are called, and whether anybody uses one:
// what the loader, which makes them, and penstockd, which removes those that
// were left, have in common.
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
// NAME.stage beside them: batches that jobs share, with the same locks.
inline constexpr const char* kStageFileEnding = ".stage";

// Each process that uses a cache has a lock on one of so many bytes behind
// everything in its file. The kernel takes it back when the process ends,
// however it does.
inline constexpr uint32_t kCacheMembers = 1024;
inline constexpr off_t kCacheLocksOffset = off_t{1} << 62;

// The files begin so, whatever their version, which follows.
inline constexpr std::string_view kCacheMagicText = "PSCACHE";
inline constexpr std::string_view kStageMagicText = "PSSTAGE";

// Where in the file the seconds stand, of 8 bytes, that it is to be kept when
// nobody uses it any more.
inline constexpr uint64_t kCacheKeepOffset = 40;

// Takes all of them, for as long as fd, which was opened for writing, is open;
// false: somebody has one.
[[nodiscard]] bool shut_out_cache_members(int fd);

// Removes a file's name from a folder, if it still is that open file's.
void remove_cache_file(int folder, const std::string& name, int fd);

// Removes a cache or a share, of whatever version, that no process has locked,
// and that was not used for as long as its user or the caller keeps it,
// whichever is less, in the past or in the future. False, and nothing removed,
// where it is used, kept, or none of these. No link is followed, and nothing
// waited for. now_s: since 1970.
bool remove_if_left(int folder, const std::string& name, uint64_t most_keep_s,
                    uint64_t now_s);

}  // namespace penstock
