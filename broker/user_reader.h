// Reads a file that a user names, with that user's rights alone.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace penstock {

inline constexpr size_t kMaxUserFileBytes = size_t{64} * 1024;

// Gives up root for good, for this user and group, and copies the file. Writes
// '=' and the file's text, or '!' and an errno value (int; EFBIG: not a regular
// file of at most kMaxUserFileBytes). The path may be hostile, and its file
// system hang: call it in a child (broker/workers.h). Uses system calls only.
void read_as_user(const char* path, uid_t uid, gid_t gid, int out);

}  // namespace penstock
