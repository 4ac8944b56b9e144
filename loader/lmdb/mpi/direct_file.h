// Opens an open file again with O_DIRECT, to bypass the page cache.
#pragma once

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock::lmdb {

// Opens the same file even if its name now belongs to another. Reads a block on
// trial: some file systems accept the flag but refuse the reads. The caller
// keeps fd.
// Errors: kInvalidArgument  the file system refuses O_DIRECT
[[nodiscard]] Result<UniqueFd> open_direct(int fd);

}  // namespace penstock::lmdb
