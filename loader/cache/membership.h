// Who uses a cache file, by locks that the kernel takes back when a process
// ends, however it does: true in every PID namespace, and never another
// process's.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

struct MemberTable;

// A lock on one byte of the file, as long as it lives; in a forked process, of
// both.
class Membership {
 public:
  // fd: the file, opened for reading and writing. Opens it anew: a lock belongs
  // to an open file.
  // Errors: kLimit  as many processes as there are numbers use the cache; kIo
  [[nodiscard]] static Result<Membership> join(int fd, MemberTable& table);

  // Takes all other numbers too: nobody can join any more. False: somebody has
  // one.
  [[nodiscard]] bool shut();

  uint32_t number() const { return number_; }
  uint32_t generation() const { return generation_; }
  pid_t pid() const { return pid_; }  // who joined

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

// Whether a process has that number, other than through an open file that fd
// is a copy of; likewise any number, and how many are taken. Where the kernel
// does not say: taken.
bool is_member(int fd, uint32_t number);
bool has_members(int fd);
uint32_t count_members(int fd);

// The lock of the one process that serves the cache to other nodes, as long as
// what is returned is open. Opens the file anew.
// Errors: kUnavailable  another process has it; kIo
[[nodiscard]] Result<UniqueFd> lock_serving(int fd);

}  // namespace penstock
