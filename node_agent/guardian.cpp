#include "node_agent/guardian.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <new>

namespace penstock {
namespace {

constexpr char kAway = 'a';
constexpr char kNobodyAway = 'n';
constexpr char kDismissed = 'd';

class Watch {
 public:
  Watch(int reader, int needed_socket, const Guardian::CleanUp& clean_up,
        int patience_ms, std::atomic<uint32_t>& clean_ups)
      : reader_(reader),
        needed_socket_(needed_socket),
        clean_up_(clean_up),
        patience_ms_(patience_ms),
        clean_ups_(clean_ups) {}

  // Handles one heartbeat, time-out or end of a descriptor. False: exit.
  bool once() {
    std::array<pollfd, 2> heard{{{reader_, POLLIN, 0}, {needed_socket_, 0, 0}}};
    const int ready =
        ::poll(heard.data(), heard.size(), anything_away_ ? patience_ms_ : -1);
    if (ready < 0) return errno == EINTR;
    if (ready == 0) {
      clean_up_(Guardian::Cause::kHangs);
      ++clean_ups_;
      anything_away_ = false;  // until the next heartbeat
      return true;
    }
    if (heard[0].revents == 0) return false;  // penstockd cleans up itself
    std::array<char, 64> beats;
    const ssize_t size = ::read(reader_, beats.data(), beats.size());
    if (size < 0) return errno == EINTR;
    if (size == 0) {
      clean_up_(Guardian::Cause::kDied);
      return false;
    }
    const char last = beats[static_cast<size_t>(size) - 1];
    anything_away_ = last == kAway;
    return last != kDismissed;
  }

 private:
  const int reader_;
  const int needed_socket_;
  const Guardian::CleanUp& clean_up_;
  const int patience_ms_;
  std::atomic<uint32_t>& clean_ups_;
  bool anything_away_ = false;
};

}  // namespace

void Guardian::Unmap::operator()(std::atomic<uint32_t>* shared) const {
  ::munmap(shared, sizeof *shared);
}

Result<Guardian> Guardian::start(const CleanUp& clean_up, int needed_socket,
                                 int patience_ms) {
  void* page =
      ::mmap(nullptr, sizeof(std::atomic<uint32_t>), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return system_error(errno, "mmap");
  SharedCount clean_ups(new (page) std::atomic<uint32_t>(0));
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error(errno, "pipe");
  UniqueFd reader(ends[0]), writer(ends[1]);
  ::fcntl(writer.get(), F_SETFL, O_NONBLOCK);
  const pid_t pid = ::fork();
  if (pid < 0) return system_error(errno, "fork");
  if (pid > 0) return Guardian(std::move(writer), std::move(clean_ups));

  writer.reset();
  ::prctl(PR_SET_NAME, "penstockd-guard");
  // Signals to the daemon's process group are for the daemon alone.
  ::setpgid(0, 0);
  ::signal(SIGTERM, SIG_IGN);
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  Watch watch(reader.get(), needed_socket, clean_up, patience_ms, *clean_ups);
  while (watch.once()) {
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
