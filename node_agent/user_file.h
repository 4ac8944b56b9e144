// Reads a file named by a user, with that user's rights. A child process drops
// root first, so that a hostile path or a hanging file system cannot affect
// penstockd.
#pragma once

#include <sys/types.h>

#include <string>

#include "node_agent/bounded_child.h"

namespace penstock {

inline constexpr size_t kMaxUserFileBytes = size_t{64} * 1024;
inline constexpr uint64_t kUserFileDeadline_ms = 5000;

// Calls back once, with the contents or
//   kPermissionDenied, kNotFound, kIo  the user cannot read the file
//   kLimit        over kMaxUserFileBytes, or not a regular file
//   kUnavailable  kUserFileDeadline_ms passed, or too many children run
void read_user_file(BoundedChildren& children, const std::string& path,
                    uid_t uid, gid_t gid, BoundedChildren::Callback callback);

}  // namespace penstock
