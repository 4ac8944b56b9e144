// Lets threads wait for a change that is made without a lock. A loader thread
// on a lent CPU may be stopped at any point while the lender uses that CPU. If
// it held a lock, all others would stop too.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace penstock {

// Waiter: key = prepare(); check the condition; wait(key, ...); check again.
// Notifier: make the change; notify_all().
//   kScope  FUTEX_PRIVATE_FLAG, or 0 for memory that processes share
template <int kScope>
class FutexEvent {
 public:
  uint32_t prepare() const { return count_.load(std::memory_order_seq_cst); }

  // Returns after a notify_all() later than prepare(), after timeout_ns, or
  // spuriously.
  void wait(uint32_t key, uint64_t timeout_ns) {
    const timespec timeout{static_cast<time_t>(timeout_ns / 1000000000),
                           static_cast<long>(timeout_ns % 1000000000)};
    syscall(SYS_futex, &count_, FUTEX_WAIT | kScope, key, &timeout, nullptr, 0);
  }

  void notify_all() {
    count_.fetch_add(1, std::memory_order_seq_cst);
    syscall(SYS_futex, &count_, FUTEX_WAKE | kScope, INT32_MAX, nullptr,
            nullptr, 0);
  }

 private:
  std::atomic<uint32_t> count_{0};
};

using EventCount = FutexEvent<FUTEX_PRIVATE_FLAG>;
// In shared memory. A process may be killed between its change and
// notify_all(), so the others must not wait for long.
using SharedEvent = FutexEvent<0>;

}  // namespace penstock
