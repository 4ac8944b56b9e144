// What processes of a user read from files, for the launch doctor: with that
// user's rights, as the kernel takes locks of theirs.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "cgroup/mounts.h"

namespace penstock {

inline constexpr size_t kMaxLookedAt = 8;  // processes
inline constexpr size_t kMaxReadsBytes = size_t{60} * 1024;

// Gives up root for good, looks for a third of a second, and writes lines of
// fields between tabs:
//   t  NS               the counters' time, CLOCK_MONOTONIC
//   p  PID BYTES CALLS  read since the process's start, also from pipes
//   f  TYPE MOUNT PATH  a file on a network file system, open for reading
// Control characters in MOUNT and PATH become '?'. Processes that this user may
// not look at are left out. Everything that it reads may hang: call it in a
// child (broker/workers.h). The first process must run as the user, else it
// writes nothing.
void look_at_reads(std::span<const pid_t> processes, uid_t user, int out);

// Whether a read of a file there may need an answer from another machine, or
// from a daemon that asks one (FUSE). Pure.
bool is_network_file_system(std::string_view type);

// The mount that holds this absolute path: of equal ones the last, which hides
// the others. nullptr: none. Pure.
const MountEntry* mount_of(const std::vector<MountEntry>& mounts,
                           std::string_view path);

}  // namespace penstock
