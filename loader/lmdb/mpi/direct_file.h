// A file that is open already, opened once more to be read past the page cache.
#pragma once

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock::lmdb {

// The same file, whatever has its name by now. One block of it is read, as some
// file systems take the flag and refuse the reads. fd stays the caller's.
// Errors: kInvalidArgument  the file system refuses O_DIRECT
[[nodiscard]] Result<UniqueFd> open_direct(int fd);

}  // namespace penstock::lmdb
