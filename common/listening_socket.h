// penstockd's unix socket, to which the jobs of all users connect.
#pragma once

#include <string>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

// Listens on path (SOCK_SEQPACKET, non-blocking) with mode 0666. Replaces a
// dead socket. Not thread-safe: sets the process's umask meanwhile.
// Errors: kInvalidArgument  the path is empty or too long, another daemon
//                           listens there, or the file is not a socket;
//         kIo, kPermissionDenied
[[nodiscard]] Result<UniqueFd> listen_at(const std::string& path);

}  // namespace penstock
