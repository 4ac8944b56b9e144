// Lets one more user use a file, by a POSIX access control list. Own code
// instead of libacl: the kernel's format is five entries, and libacl would be
// one more library in a daemon.
#pragma once

#include <sys/types.h>

#include "common/result.h"

namespace penstock {

// Errors of all:
//   kUnavailable       the file system has no access control lists
//   kPermissionDenied  the caller does not own the file
//   kIo

// The owner and this user may read the open file, and nobody else: no group,
// and no one may write. Mode 0400 becomes 0440, which shows the list's mask.
[[nodiscard]] Status let_read(int fd, uid_t reader);

// The same for an open directory, which they may list and search, and in which
// the owner may also write. Mode 0700 becomes 0750.
[[nodiscard]] Status let_list(int directory_fd, uid_t reader);

// The same for a socket, opened with O_PATH: its owner and this user may send
// to it. Mode 0600 becomes 0620. Needs /proc.
[[nodiscard]] Status let_send(int socket_file_fd, uid_t sender);

}  // namespace penstock
