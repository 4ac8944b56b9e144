// System calls that the kernel refuses, to a child process or to this thread.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace penstock::test {

// Compares the low half of an argument: (argument & mask) == value.
struct RefusedArgument {
  uint32_t place = 0;
  uint32_t mask = 0;
  uint32_t value = 0;
};

// Refuses the call to this thread and to its later children.
inline bool refuse_call(uint32_t number, uint32_t errno_value,
                        RefusedArgument argument = {}) {
  const auto place = static_cast<uint32_t>(offsetof(seccomp_data, args) +
                                           argument.place * sizeof(uint64_t));
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, place),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, argument.mask),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, argument.value, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | errno_value),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{7, steps};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Whether `is_right` returns true in a child process that gets this error.
template <class F>
bool holds_when_refused(uint32_t number, uint32_t errno_value, F is_right) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(refuse_call(number, errno_value) && is_right() ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

}  // namespace penstock::test
