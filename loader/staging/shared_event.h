// EventCount in shared memory: threads of several processes wait for a change
// that is made without a lock. A process may be killed between its change and
// notify_all(), so every wait is bounded.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>

namespace penstock {

// Waiter: key = prepare(); check the condition; wait(key, ...); check again.
// Notifier: make the change; notify_all().
class SharedEvent {
 public:
  static constexpr uint64_t kMostWait_ns = 250000000;

  uint32_t prepare() const { return count_.load(); }

  // Returns after a notify_all() later than prepare(), after timeout_ns or
  // kMostWait_ns, or spuriously.
  void wait(uint32_t key, uint64_t timeout_ns) {
    const timespec timeout{
        0, static_cast<long>(std::min(timeout_ns, kMostWait_ns))};
    // Not FUTEX_WAIT_PRIVATE, which only threads of this process can wake.
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
