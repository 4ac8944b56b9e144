// StateDir: penstockd's, and the mark in it that switches Penstock off on this
// node, which `penstock off` also makes where no penstockd runs.
#pragma once

#include <optional>
#include <string>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

// Opens the directory, which is made where it is missing.
// Errors: kPermissionDenied  not the caller's, or others may write to it
//         kNotFound, kIo     it cannot be made or opened
[[nodiscard]] Result<UniqueFd> open_state_dir(const std::string& path);

// The mark is an empty file, off; its time of change is since when.
inline constexpr const char* kOffMark = "off";

// Since when the node is switched off; nullopt: it is on.
[[nodiscard]] Result<std::optional<double>> off_since_unix_s(int state_dir_fd);
// Marks it, unless it is marked already; since when.
[[nodiscard]] Result<double> mark_off(int state_dir_fd);
// Takes the mark away, if there is one.
[[nodiscard]] Status unmark_off(int state_dir_fd);

}  // namespace penstock
