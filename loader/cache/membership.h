// Tracks which processes use a cache file. Each holds a lock that the kernel
// releases when the process ends, however it ends. Unlike a PID, a lock is
// valid across PID namespaces and never belongs to a later process.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

struct MemberTable;

// A lock on one byte of the file, held for the object's lifetime. After a fork
// the lock is held until the copies in both processes are gone.
class Membership {
 public:
  // fd: the file, opened for reading and writing. The file is opened again,
  // because an open file description owns the lock.
  // Errors: kLimit  kMembers processes use the cache; kIo
  [[nodiscard]] static Result<Membership> join(int fd, MemberTable& table);

  // Locks all other numbers too, so that nobody can join any more. False:
  // another process holds one.
  [[nodiscard]] bool shut();

  uint32_t number() const { return number_; }
  uint32_t generation() const { return generation_; }
  pid_t pid() const { return pid_; }  // of the process that joined

 private:
  Membership(UniqueFd fd, uint32_t number, uint32_t generation, pid_t pid)
      : fd_(std::move(fd)),
        number_(number),
        generation_(generation),
        pid_(pid) {}

  UniqueFd fd_;
  uint32_t number_;
  uint32_t generation_;
  pid_t pid_;
};

// Whether a process holds that number; whether any is held; how many are held.
// Locks of fd's own open file description are not seen. If the kernel reports
// an error, the number counts as held.
bool is_member(int fd, uint32_t number);
bool has_members(int fd);
uint32_t count_members(int fd);

// Takes the lock of the one process that serves the cache to other nodes. The
// returned descriptor, a new open of the file, holds it.
// Errors: kUnavailable  another process holds it; kIo
[[nodiscard]] Result<UniqueFd> lock_serving(int fd);

}  // namespace penstock
