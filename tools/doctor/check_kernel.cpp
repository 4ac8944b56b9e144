// Checks the kernel's release.
#include <fmt/format.h>

#include "cgroup/attach_lock.h"
#include "tools/doctor/doctor.h"

namespace penstock::doctor {

Findings check_kernel(const std::string& release, bool always_moves) {
  const char* check = "kernel";
  if (!every_attach_locks(release)) return {ok(check, "Linux " + release)};
  if (always_moves) {
    return {
        ok(check, fmt::format("Linux {} is older than 6.2: with "
                              "MoveProcesses=always a user can stop the node's "
                              "control groups",
                              release))};
  }
  return {warn(
      check,
      fmt::format("Linux {} is older than 6.2: on cgroup v1 only threads are "
                  "lent CPUs, not worker processes, and on v2 no job is",
                  release),
      "set MoveProcesses=always if all users are trusted, or boot Linux 6.2 or "
      "later, such as Debian 12's kernel of "
      "bookworm-backports, with cgroup v2 (Debian's kernels from 6.12 on have "
      "no cpusets of v1)")};
}

}  // namespace penstock::doctor
