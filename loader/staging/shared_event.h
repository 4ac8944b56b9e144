// Lets threads of several processes wait for a change that others make without
// a lock: EventCount in a shared file. Whoever makes a change may be killed
// before it says so, so that nobody waits without an end.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>

namespace penstock {

// Waiter: key = prepare(); look at the condition; wait(key, ...); look again.
// Changer: make the change; notify_all().
class SharedEvent {
 public:
  static constexpr uint64_t kMostWait_ns = 250000000;

  uint32_t prepare() const { return count_.load(); }

  // Returns after a notify_all() that came after prepare(), after timeout_ns or
  // kMostWait_ns, or for no reason.
  void wait(uint32_t key, uint64_t timeout_ns) {
    const timespec timeout{
        0, static_cast<long>(std::min(timeout_ns, kMostWait_ns))};
    ::syscall(SYS_futex, &count_, FUTEX_WAIT, key, &timeout, nullptr, 0);
  }

  void notify_all() {
    ++count_;
    ::syscall(SYS_futex, &count_, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
  }

 private:
  std::atomic<uint32_t> count_{0};
};

}  // namespace penstock
