// Which moves of a thread into another cpuset wait for the lock of its
// process's memory (mmap_lock). A user's process can hold that lock for ever,
// and the kernel waits with the locks of all control groups: no process on the
// node could then start, end or move (docs/decisions/cgroup.md, 104).
//
// Only a process's main thread is concerned, and only moves to another cpuset.
//   before Linux 6.2  every such move waits
//   from 6.2 on       v1: if the two groups differ in memory nodes, or the new
//                     one has cpuset.memory_migrate
//                     v2: if they differ in CPUs or memory nodes
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// release: as of uname(2), "6.1.0-56-amd64". True as well if it is unreadable.
// Backports are not known: a kernel that has one counts as an old one.
bool every_attach_locks(std::string_view release);

// This kernel's release; "" if unknown.
std::string kernel_release();

}  // namespace penstock
