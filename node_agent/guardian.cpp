#include "node_agent/guardian.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace penstock {

Result<Guardian> Guardian::start(const std::function<void()>& clean_up) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error(errno, "pipe");
  UniqueFd reader(ends[0]), writer(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return system_error(errno, "fork");
  if (pid > 0) return Guardian(std::move(writer));

  writer.reset();
  ::prctl(PR_SET_NAME, "penstockd-guard");
  // Signals for the daemon's whole process group are the daemon's to handle.
  ::setsid();
  ::signal(SIGTERM, SIG_IGN);
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  char dismissed = 0;
  ssize_t size = 0;
  do {
    size = ::read(reader.get(), &dismissed, 1);
  } while (size < 0 && errno == EINTR);
  if (size == 0) clean_up();
  ::_exit(0);
}

void Guardian::dismiss() {
  if (pipe_) (void)!::write(pipe_.get(), "d", 1);
  pipe_.reset();
}

}  // namespace penstock
