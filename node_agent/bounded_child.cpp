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
  is_ending_ = true;
  while (!children_.empty()) {
    finish(children_.begin()->first,
           Error{Code::kUnavailable, 0, "penstockd is stopping"});
  }
}

size_t BoundedChildren::children_of(uid_t user) const {
  const auto running = std::count_if(
      children_.begin(), children_.end(),
      [&](const auto& entry) { return entry.second.user == user; });
  const auto hung =
      std::count_if(killed_.begin(), killed_.end(),
                    [&](const Killed& child) { return child.user == user; });
  return size_t(running + hung);
}

Status BoundedChildren::may_start(const ChildWork& work) {
  const auto refuse = [](std::string why) {
    return Status(Error{Code::kUnavailable, 0, std::move(why)});
  };
  if (is_ending_) return refuse("penstockd is stopping");
  std::erase_if(killed_, [](const Killed& child) {
    pollfd ended{child.pidfd.get(), POLLIN, 0};
    return ::poll(&ended, 1, 0) == 1;
  });
  for (const Killed& child : killed_) {
    if (child.what == work.what && child.user == work.user) {
      return refuse(work.what + ": the last try still hangs");
    }
  }
  if (children_.size() + killed_.size() >= kMaxChildren ||
      (work.user && children_of(*work.user) >= kMaxOfUser)) {
    return refuse(work.what + ": too many at once");
  }
  return Done{};
}

// Returns the child's pidfd; empty: it has ended, or runs elsewhere.
Result<UniqueFd> BoundedChildren::launch(const ChildWork& work, int out) {
  if (work.elsewhere) {
    const Status started = work.elsewhere(out);
    return started ? Result<UniqueFd>(UniqueFd()) : started.error();
  }
  const pid_t pid = ::fork();
  if (pid == 0) run_child(work, out);
  if (pid < 0) return system_error(errno, "fork");
  // A pidfd, because the pid may be reused before the kill.
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (pidfd || errno == ESRCH) return pidfd;
  const int error = errno;
  // Nothing could end it later. Its pid is its own until it has ended, and is
  // not given again at once.
  ::kill(pid, SIGKILL);
  return system_error(error, "pidfd_open");
}

void BoundedChildren::start(const ChildWork& work, Callback callback) {
  std::array<int, 2> ends{-1, -1};
  if (Status may = may_start(work); !may) {
    callback(std::move(may).error());
    return;
  }
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    callback(system_error(errno, "pipe"));
    return;
  }
  UniqueFd in(ends[0]), out(ends[1]);
  Result<UniqueFd> pidfd = launch(work, out.get());
  if (!pidfd) {
    callback(std::move(pidfd).error());
    return;
  }
  const int fd = in.get();
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  children_[fd] =
      Child{*std::move(pidfd), work.user,
            std::move(in),     work.what,
            work.deadline_ms,  monotonic_ns() + work.deadline_ms * 1'000'000,
            work.max_bytes,    "",
            work.stream,       std::move(callback)};
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

void BoundedChildren::serve(const std::function<bool()>& is_done,
                            uint64_t most_ms) {
  const uint64_t until_ns = monotonic_ns() + most_ms * 1'000'000;
  while (!is_done() && !children_.empty()) {
    const uint64_t now_ns = monotonic_ns();
    if (now_ns >= until_ns) return;
    std::vector<pollfd> pipes;
    for (const auto& [fd, child] : children_) pipes.push_back({fd, POLLIN, 0});
    (void)::poll(pipes.data(), pipes.size(),
                 int((until_ns - now_ns) / 1'000'000) + 1);
    for (const pollfd& pipe : pipes) {
      // An earlier callback may have ended it.
      if (pipe.revents != 0 && children_.contains(pipe.fd)) receive(pipe.fd);
    }
  }
}

void BoundedChildren::finish(int fd, Result<std::string> result) {
  loop_.forget(fd);
  auto node = children_.extract(fd);
  Child& child = node.mapped();
  // The child may hang in the kernel, so nothing waits for its end.
  if (child.pidfd) {
    ::syscall(SYS_pidfd_send_signal, child.pidfd.get(), SIGKILL, nullptr, 0);
    if (!result) {
      killed_.push_back({std::move(child.pidfd), child.user, child.what});
    }
  }
  child.callback(std::move(result));
}

}  // namespace penstock
