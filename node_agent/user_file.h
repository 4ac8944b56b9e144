// Reads a file named by a user, with that user's rights. The broker's child
// does it, so that a hostile path or a hanging file system cannot affect
// penstockd.
#pragma once

#include <sys/types.h>

#include <string>

#include "broker/client.h"
#include "node_agent/bounded_child.h"

namespace penstock {

inline constexpr uint64_t kUserFileDeadline_ms = 5000;

// Calls back once, with the contents or
//   kPermissionDenied, kNotFound, kIo  the user cannot read the file
//   kLimit        over kMaxUserFileBytes, or not a regular file
//   kUnavailable  kUserFileDeadline_ms passed, too many children run, or the
//                 process has ended
//
// process: of a job of the user uid.
void read_user_file(BoundedChildren& children, const BrokerClient& broker,
                    const std::string& path, uid_t uid, pid_t process,
                    BoundedChildren::Callback callback);

}  // namespace penstock
