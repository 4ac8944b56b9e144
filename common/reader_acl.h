// Lets one more user read a file, by a POSIX access control list. Own code
// instead of libacl: the kernel's format is five entries, and libacl would be
// one more library in a daemon that runs as root.
#pragma once

#include <sys/types.h>

#include "common/result.h"

namespace penstock {

// The owner and this user may read the open file, and nobody else: no group,
// and no one may write. Mode 0400 becomes 0440, which shows the list's mask.
// Errors: kUnavailable       the file system has no access control lists
//         kPermissionDenied  the caller does not own the file
//         kIo
[[nodiscard]] Status let_read(int fd, uid_t reader);

}  // namespace penstock
