// Reads a file that a user named, with that user's rights: in a child process
// that has given up root, so that neither a hostile path nor a hanging file
// system reaches penstockd.
#pragma once

#include <sys/types.h>

#include <string>

#include "node_agent/bounded_child.h"

namespace penstock {

inline constexpr size_t kMaxUserFileBytes = size_t{64} * 1024;
inline constexpr uint64_t kUserFileDeadline_ms = 5000;

// Calls back later, once: with the contents, or
//   kPermissionDenied, kNotFound, kIo  the user cannot read it
//   kLimit        over kMaxUserFileBytes, or not a regular file
//   kUnavailable  it took too long, or too many are being read
void read_user_file(BoundedChildren& children, const std::string& path,
                    uid_t uid, gid_t gid, BoundedChildren::Callback callback);

}  // namespace penstock
