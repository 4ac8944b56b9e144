// Reads a file that a user names, with that user's rights alone.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>

#include "cgroup/proc_parse.h"

namespace penstock {

inline constexpr size_t kMaxUserFileBytes = size_t{64} * 1024;

// The group of the process if it runs as this user alone; nullopt: it does not,
// or not yet. A task is root's for a moment after Slurm has forked it.
std::optional<gid_t> group_of_user_process(const ProcStatus& process,
                                           uid_t user);

// Waits until the process runs as the user, for 2 s at most, and then reads as
// read_as_user() with its group; '!' and EPERM if it never does.
void read_as_process(const char* path, pid_t process, uid_t user, int out);

// Gives up root for good, for this user and group, and copies the file. Writes
// '=' and the file's text, or '!' and an errno value (int; EFBIG: not a regular
// file of at most kMaxUserFileBytes). The path may be hostile, and its file
// system hang: call it in a child (broker/workers.h). Uses system calls only.
void read_as_user(const char* path, uid_t uid, gid_t gid, int out);

}  // namespace penstock
