#include "common/daemon_signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace penstock {

Result<UniqueFd> watch_signals(EventLoop& loop, std::function<void()> reload) {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  UniqueFd signals(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return system_error(errno, "signalfd");
  Status watched = loop.watch(
      signals.get(), [&loop, fd = signals.get(), reload = std::move(reload)] {
        signalfd_siginfo signal{};
        if (::read(fd, &signal, sizeof signal) != sizeof signal) return;
        signal.ssi_signo == SIGHUP ? reload() : loop.stop();
      });
  if (!watched) return std::move(watched).error();
  return signals;
}

}  // namespace penstock
