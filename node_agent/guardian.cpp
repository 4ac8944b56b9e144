#include "node_agent/guardian.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace penstock {
namespace {

constexpr char kAway = 'a';
constexpr char kNobodyAway = 'n';
constexpr char kDismissed = 'd';

// One heartbeat, silence, or the end. False: the guardian is done.
bool watch_once(int reader, const std::function<void()>& clean_up) {
  static bool anything_away = false;
  pollfd heard{reader, POLLIN, 0};
  const int ready =
      ::poll(&heard, 1, anything_away ? Guardian::kPatience_ms : -1);
  if (ready < 0) return errno == EINTR;
  if (ready == 0) {
    clean_up();
    anything_away = false;  // until penstockd goes on
    return true;
  }
  std::array<char, 64> beats;
  const ssize_t size = ::read(reader, beats.data(), beats.size());
  if (size < 0) return errno == EINTR;
  if (size == 0) {
    clean_up();
    return false;
  }
  const char last = beats[static_cast<size_t>(size) - 1];
  anything_away = last == kAway;
  return last != kDismissed;
}

}  // namespace

Result<Guardian> Guardian::start(const std::function<void()>& clean_up) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error(errno, "pipe");
  UniqueFd reader(ends[0]), writer(ends[1]);
  ::fcntl(writer.get(), F_SETFL, O_NONBLOCK);
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
  while (watch_once(reader.get(), clean_up)) {
  }
  ::_exit(0);
}

void Guardian::beat(bool anything_away) {
  const char beat = anything_away ? kAway : kNobodyAway;
  (void)!::write(pipe_.get(), &beat, 1);
}

void Guardian::dismiss() {
  if (pipe_) (void)!::write(pipe_.get(), &kDismissed, 1);
  pipe_.reset();
}

}  // namespace penstock
