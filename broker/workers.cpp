#include "broker/workers.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace penstock {
namespace {

// `out` becomes descriptor 0 and `in` descriptor 1; the rest is closed, because
// a hung child must not hold the broker's socket.
[[noreturn]] void run_child(const Workers::Work& work, int out, int in) {
  ::signal(SIGALRM, SIG_DFL);
  ::signal(SIGPIPE, SIG_DFL);
  ::alarm(Workers::kDeadline_s);
  if (::dup2(out, STDIN_FILENO) != STDIN_FILENO) ::_exit(1);
  if (in >= 0 && ::dup2(in, STDOUT_FILENO) != STDOUT_FILENO) ::_exit(1);
  ::close_range(3, ~0U, 0);
  work(STDIN_FILENO, in >= 0 ? STDOUT_FILENO : -1);
  ::_exit(0);
}

}  // namespace

Status Workers::start(const Work& work, int out, int in) {
  std::erase_if(running_, [](const UniqueFd& child) {
    pollfd ended{child.get(), POLLIN, 0};
    return ::poll(&ended, 1, 0) == 1;
  });
  if (running_.size() >= kMost) {
    return Error{Code::kUnavailable, EAGAIN,
                 "penstock-broker: too many files are being used"};
  }
  const pid_t pid = ::fork();
  if (pid == 0) run_child(work, out, in);
  if (pid < 0) return system_error(errno, "fork");
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (pidfd) running_.push_back(std::move(pidfd));  // else it has ended
  return Done{};
}

}  // namespace penstock
