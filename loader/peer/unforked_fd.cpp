#include "loader/peer/unforked_fd.h"

#include <pthread.h>

#include <mutex>
#include <set>

namespace penstock {
namespace {

// Never destroyed: threads may end later than the program's objects.
struct OpenFds {
  std::mutex mutex;
  std::set<int> fds;
};

OpenFds& open_fds() {
  static auto* const open = new OpenFds;
  return *open;
}

// The fork handlers hold the mutex across fork(): otherwise a child could
// inherit it locked by a thread that the child does not have.
void watch_forks() {
  static const int registered = ::pthread_atfork(
      [] { open_fds().mutex.lock(); }, [] { open_fds().mutex.unlock(); },
      [] {
        for (const int fd : open_fds().fds) ::close(fd);
        open_fds().fds.clear();
        open_fds().mutex.unlock();
      });
  (void)registered;  // on ENOMEM children keep the descriptors
}

}  // namespace

UnforkedFd::UnforkedFd(const std::function<UniqueFd()>& open) {
  watch_forks();
  const std::lock_guard lock(open_fds().mutex);
  fd_ = open();
  if (fd_) open_fds().fds.insert(fd_.get());
}

UnforkedFd& UnforkedFd::operator=(UnforkedFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::move(other.fd_);
  }
  return *this;
}

void UnforkedFd::reset() {
  if (!fd_) return;
  const std::lock_guard lock(open_fds().mutex);
  // In a forked process it is closed already, and its number may be reused.
  if (open_fds().fds.erase(fd_.get()) > 0) {
    fd_.reset();
  } else {
    (void)fd_.release();
  }
}

}  // namespace penstock
