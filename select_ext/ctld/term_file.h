// A term in the state directory of a daemon, so that a restart goes on from it:
// the last that a controller held, the newest that an agent has obeyed. Each
// call reads or writes; not thread-safe.
#pragma once

#include <cstdint>

#include "common/result.h"

namespace penstock {

// 0 where there is no such file.
// Errors: kInvalidArgument  the file holds something else: says what to do
//         kIo, kPermissionDenied
[[nodiscard]] Result<uint64_t> load_term(int state_dir_fd);

// Has reached the disk when it returns without an error; a crash leaves the
// old number or the new one.
// Errors: kIo  the disk is full, say: the old number stands
[[nodiscard]] Status save_term(int state_dir_fd, uint64_t term);

}  // namespace penstock
