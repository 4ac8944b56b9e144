#include "broker/workers.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/clock.h"

namespace penstock {
namespace {

// `out` becomes descriptor 0 and `in` descriptor 1; the rest is closed, because
// a hung child must not hold the broker's socket.
[[noreturn]] void run_child(const Workers::Work& work, int out, int in) {
  ::signal(SIGALRM, SIG_DFL);
  ::signal(SIGPIPE, SIG_DFL);
  ::alarm(work.deadline_s);
  if (out >= 0 && ::dup2(out, STDIN_FILENO) != STDIN_FILENO) ::_exit(1);
  if (in >= 0 && ::dup2(in, STDOUT_FILENO) != STDOUT_FILENO) ::_exit(1);
  if (out < 0) ::close(STDIN_FILENO);  // the broker's socket
  ::close_range(3, ~0U, 0);
  work.body(out >= 0 ? STDIN_FILENO : -1, in >= 0 ? STDOUT_FILENO : -1);
  ::_exit(0);
}

void end_child(int pidfd) {
  ::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0);
}

}  // namespace

// Kills those that are late: a user can stop a child with the user's rights, so
// that no alarm ends it.
void Workers::forget_ended() {
  const uint64_t now_ns = monotonic_ns();
  std::erase_if(running_, [&](const Child& child) {
    if (now_ns >= child.deadline_ns) {
      end_child(child.pidfd.get());
    }
    pollfd ended{child.pidfd.get(), POLLIN, 0};
    return ::poll(&ended, 1, 0) == 1;
  });
}

Workers::~Workers() {
  for (const Child& child : running_) end_child(child.pidfd.get());
}

Status Workers::start(const Work& work, int out, int in) {
  forget_ended();
  const auto count = [&](auto of) {
    return static_cast<size_t>(
        std::count_if(running_.begin(), running_.end(), of));
  };
  const bool is_full =
      running_.size() >= kMost || (work.user && (count([](const Child& it) {
                                                   return it.user.has_value();
                                                 }) >= kMostOfUsers ||
                                                 count([&](const Child& it) {
                                                   return it.user == work.user;
                                                 }) >= kMostOf));
  if (is_full) {
    return Error{Code::kUnavailable, EAGAIN,
                 "penstock-broker: too many files are being used"};
  }
  const pid_t pid = ::fork();
  if (pid == 0) run_child(work, out, in);
  if (pid < 0) return system_error(errno, "fork");
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (pidfd) {  // else it has ended
    running_.push_back({std::move(pidfd), work.user,
                        monotonic_ns() + work.deadline_s * 1'000'000'000ULL});
  }
  return Done{};
}

}  // namespace penstock
