#include "tests/model/calls.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <new>

namespace penstock::model {

Calls* calls = nullptr;
size_t live_bytes = 0;

void Calls::pass(uint64_t ns) {
  now_ns += ns;
  for (auto& [fd, timer] : timers) {
    if (timer.period_ns == 0 || timer.due_ns > now_ns) continue;
    ::eventfd_write(fd, 1);
    // Missed expirations count once, as for a late reader.
    timer.due_ns = now_ns + timer.period_ns;
  }
}

void Calls::set_cpu_stat(const std::string& text) {
  cpu_stat = text;
  if (cpu_stat_fd < 0) return;
  (void)!::ftruncate(cpu_stat_fd, 0);
  (void)!::pwrite(cpu_stat_fd, text.data(), text.size(), 0);
}

}  // namespace penstock::model

using penstock::model::calls;
using penstock::model::live_bytes;

void* operator new(size_t size) {
  void* const block = std::malloc(size);
  if (block == nullptr) std::abort();
  live_bytes += ::malloc_usable_size(block);
  return block;
}

void operator delete(void* block) noexcept {
  live_bytes -= ::malloc_usable_size(block);
  std::free(block);
}

void operator delete(void* block, size_t) noexcept { operator delete(block); }

extern "C" {

int __real_clock_gettime(clockid_t clock, timespec* now);
int __real_timerfd_create(int clock, int flags);
int __real_timerfd_settime(int fd, int flags, const itimerspec* when,
                           itimerspec* old);
int __real_epoll_wait(int fd, epoll_event* events, int most, int timeout_ms);
long __real_syscall(long number, ...);
int __real_open(const char* path, int flags, ...);
int __real_getsockopt(int fd, int level, int name, void* value,
                      socklen_t* size);
int __real_socket(int domain, int type, int protocol);
pid_t __real_fork();

int __wrap_clock_gettime(clockid_t clock, timespec* now) {
  if (calls == nullptr) return __real_clock_gettime(clock, now);
  calls->now_ns += calls->look_ns;
  uint64_t ns = calls->now_ns;
  if (clock == CLOCK_BOOTTIME) ns += calls->slept_ns;
  if (clock == CLOCK_REALTIME) ns += calls->unix_ns;
  now->tv_sec = time_t(ns / 1'000'000'000);
  now->tv_nsec = long(ns % 1'000'000'000);
  return 0;
}

int __wrap_timerfd_create(int clock, int flags) {
  if (calls == nullptr) return __real_timerfd_create(clock, flags);
  const int fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  calls->timers[fd] = {};
  return fd;
}

int __wrap_timerfd_settime(int fd, int flags, const itimerspec* when,
                           itimerspec* old) {
  if (calls == nullptr) return __real_timerfd_settime(fd, flags, when, old);
  const uint64_t period_ns =
      uint64_t(when->it_interval.tv_sec) * 1'000'000'000 +
      uint64_t(when->it_interval.tv_nsec);
  calls->timers[fd] = {period_ns, calls->now_ns + period_ns};
  uint64_t expirations = 0;  // setting a timer clears them
  (void)!::read(fd, &expirations, sizeof expirations);
  return 0;
}

int __wrap_epoll_wait(int fd, epoll_event* events, int most, int timeout_ms) {
  if (calls == nullptr) return __real_epoll_wait(fd, events, most, timeout_ms);
  for (;;) {
    const int ready = __real_epoll_wait(fd, events, most, 0);
    if (ready != 0 || calls->is_ending) return ready;
    calls->idle();
  }
}

long __wrap_syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long words[6];
  for (long& word : words) word = va_arg(list, long);
  va_end(list);
  if (calls == nullptr || number != SYS_pidfd_open) {
    return __real_syscall(number, words[0], words[1], words[2], words[3],
                          words[4], words[5]);
  }
  const int fd = calls->open_pidfd(pid_t(words[0]));
  if (fd < 0) errno = ESRCH;
  return fd;
}

int __wrap_open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = va_arg(list, mode_t);
  va_end(list);
  if (calls == nullptr || std::strcmp(path, "/proc/stat") != 0) {
    return __real_open(path, flags, mode);
  }
  const int fd = ::memfd_create("stat", MFD_CLOEXEC);
  calls->cpu_stat_fd = fd;
  calls->set_cpu_stat(calls->cpu_stat);
  return fd;
}

int __wrap_getsockopt(int fd, int level, int name, void* value,
                      socklen_t* size) {
  if (calls == nullptr || level != SOL_SOCKET || name != SO_PEERCRED) {
    return __real_getsockopt(fd, level, name, value, size);
  }
  std::memcpy(value, &calls->peer, sizeof calls->peer);
  return 0;
}

// No process events: penstockd polls instead.
int __wrap_socket(int domain, int type, int protocol) {
  if (calls == nullptr || domain != AF_NETLINK) {
    return __real_socket(domain, type, protocol);
  }
  errno = EPROTONOSUPPORT;
  return -1;
}

// No helper processes: their work would not be repeatable.
pid_t __wrap_fork() {
  if (calls == nullptr) return __real_fork();
  errno = EAGAIN;
  return -1;
}

}  // extern "C"
