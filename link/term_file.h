// A term in a daemon's state directory, so that a restart continues from it:
// the last term that a controller held, or the newest that an agent has obeyed.
// Each call does file I/O; not thread-safe.
#pragma once

#include <cstdint>

#include "common/result.h"

namespace penstock {

// Returns 0 if the file does not exist.
// Errors: kInvalidArgument  the file holds something else: says what to do
//         kIo, kPermissionDenied
[[nodiscard]] Result<uint64_t> load_term(int state_dir_fd);

// The term is on disk when this returns without an error. A crash leaves the
// old number or the new one.
// Errors: kIo  such as a full disk: the old number stays
[[nodiscard]] Status save_term(int state_dir_fd, uint64_t term);

// Removes the file, if it exists. The daemon must not run.
[[nodiscard]] Status reset_term(int state_dir_fd);

}  // namespace penstock
