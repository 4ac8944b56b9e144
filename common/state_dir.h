// penstockd's StateDir, and its off mark, which switches Penstock off on this
// node. `penstock off` also creates the mark if no penstockd runs.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

// Makes the directory, or gives the present one of root's, to this owner.
// socket_path: SocketPath, whose file may be in it.
// REQUIRES: root. Errors: as hand_over(), or it cannot be made.
[[nodiscard]] Status give_state_dir(const std::string& path, uid_t owner,
                                    const std::string& socket_path);

// Opens the directory; creates it if missing.
//   owner  -1: the caller. Root may open the directory of AgentUser.
// Errors: kPermissionDenied  not owned by the owner, or writable by others
//         kNotFound, kIo     cannot be created or opened
[[nodiscard]] Result<UniqueFd> open_state_dir(const std::string& path,
                                              uid_t owner = uid_t(-1));

// The mark is an empty file; its mtime is the time of the switch.
inline constexpr const char* kOffMark = "off";

// Time of the switch, s since 1970; nullopt: the node is on.
[[nodiscard]] Result<std::optional<double>> off_since_unix_s(int state_dir_fd);
// Creates the mark if missing; returns the time of the switch, s since 1970.
[[nodiscard]] Result<double> mark_off(int state_dir_fd);
// Removes the mark, if any.
[[nodiscard]] Status unmark_off(int state_dir_fd);

}  // namespace penstock
