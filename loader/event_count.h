// Lets threads wait for a change that others make without a lock. A loader
// thread may lose its CPU anywhere for as long as a lender wants it; had it a
// lock then, all others would stand too.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace penstock {

// Waiter: key = prepare(); look at the condition; wait(key, ...); look again.
// Changer: make the change; notify_all().
class EventCount {
 public:
  uint32_t prepare() const { return count_.load(std::memory_order_seq_cst); }

  // Returns after a notify_all() that came after prepare(), after timeout_ns,
  // or for no reason.
  void wait(uint32_t key, uint64_t timeout_ns) {
    const timespec timeout{static_cast<time_t>(timeout_ns / 1000000000),
                           static_cast<long>(timeout_ns % 1000000000)};
    syscall(SYS_futex, &count_, FUTEX_WAIT_PRIVATE, key, &timeout, nullptr, 0);
  }

  void notify_all() {
    count_.fetch_add(1, std::memory_order_seq_cst);
    syscall(SYS_futex, &count_, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr,
            0);
  }

 private:
  std::atomic<uint32_t> count_{0};
};

}  // namespace penstock
