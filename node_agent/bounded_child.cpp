#include "node_agent/bounded_child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "common/clock.h"

namespace penstock {
namespace {

[[noreturn]] void run_child(const ChildWork& work, int out) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Closes everything else, because a hung child must not hold the lock or the
  // guardian's pipe. `out` becomes descriptor 0 for that.
  if (::dup2(out, STDIN_FILENO) != STDIN_FILENO) ::_exit(1);
  ::close_range(3, ~0U, 0);
  // Libraries that run programs wait for them, which fails with SIGCHLD
  // ignored.
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  work.body(STDIN_FILENO);
  ::_exit(0);
}

}  // namespace

void BoundedChildren::end_all() {
  while (!children_.empty()) {
    finish(children_.begin()->first,
           Error{Code::kUnavailable, 0, "penstockd is stopping"});
  }
}

bool BoundedChildren::has_room(const std::optional<uid_t>& user) {
  std::erase_if(killed_, [](const Killed& child) {
    pollfd ended{child.pidfd.get(), POLLIN, 0};
    return ::poll(&ended, 1, 0) == 1;
  });
  if (children_.size() + killed_.size() >= kMaxChildren) return false;
  if (!user) return true;
  const auto same = [&](const auto& child) { return child.user == user; };
  const auto running =
      std::count_if(children_.begin(), children_.end(),
                    [&](const auto& entry) { return same(entry.second); });
  const auto hung = std::count_if(killed_.begin(), killed_.end(), same);
  return size_t(running + hung) < kMaxOfUser;
}

void BoundedChildren::start(const ChildWork& work, Callback callback) {
  std::array<int, 2> ends{-1, -1};
  if (!has_room(work.user)) {
    callback(Error{Code::kUnavailable, 0, work.what + ": too many at once"});
    return;
  }
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    callback(system_error(errno, "pipe"));
    return;
  }
  UniqueFd in(ends[0]), out(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) run_child(work, out.get());
  if (pid < 0) {
    callback(system_error(errno, "fork"));
    return;
  }
  // A pidfd, because the pid may be reused before the kill.
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd && errno != ESRCH) {
    const int error = errno;
    // Nothing could end it later. Its pid is its own until it has ended, and is
    // not given again at once.
    ::kill(pid, SIGKILL);
    callback(system_error(error, "pidfd_open"));
    return;
  }
  const int fd = in.get();
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  children_[fd] =
      Child{std::move(pidfd), work.user,
            std::move(in),    work.what,
            work.deadline_ms, monotonic_ns() + work.deadline_ms * 1'000'000,
            work.max_bytes,   "",
            work.stream,      std::move(callback)};
  if (!loop_.watch(fd, [this, fd] { receive(fd); })) {
    finish(fd, Error{Code::kIo, 0, work.what + ": cannot be watched"});
  }
}

void BoundedChildren::receive(int fd) {
  Child& child = children_.at(fd);
  std::array<char, 4096> block;
  const ssize_t size = ::read(fd, block.data(), block.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) {
    finish(fd, std::move(child.text));
    return;
  }
  const std::string_view text(block.data(), static_cast<size_t>(size));
  if (child.stream) {
    child.deadline_ns = monotonic_ns() + child.deadline_ms * 1'000'000;
    if (!child.stream(text)) finish(fd, std::string());
    return;
  }
  child.text.append(text);
  if (child.text.size() <= child.max_bytes) return;
  finish(fd, Error{Code::kLimit, 0,
                   child.what + ": more than " +
                       std::to_string(child.max_bytes) + " bytes"});
}

void BoundedChildren::expire(uint64_t now_ns) {
  std::vector<int> late;
  for (const auto& [fd, child] : children_) {
    if (now_ns >= child.deadline_ns) late.push_back(fd);
  }
  for (int fd : late) {
    // What came before the deadline counts, even if penstockd itself was late.
    receive(fd);
    const auto entry = children_.find(fd);
    if (entry == children_.end() || now_ns < entry->second.deadline_ns) {
      continue;
    }
    const Child& child = entry->second;
    finish(fd, Error{Code::kUnavailable, ETIMEDOUT,
                     child.what + ": not done within " +
                         std::to_string(child.deadline_ms) + " ms"});
  }
}

void BoundedChildren::finish(int fd, Result<std::string> result) {
  loop_.forget(fd);
  auto node = children_.extract(fd);
  Child& child = node.mapped();
  // The child may hang in the kernel, so nothing waits for its end.
  if (child.pidfd) {
    ::syscall(SYS_pidfd_send_signal, child.pidfd.get(), SIGKILL, nullptr, 0);
    killed_.push_back({std::move(child.pidfd), child.user});
  }
  child.callback(std::move(result));
}

}  // namespace penstock
