// Limits the rate of the loader's reads. Time is an argument.
#pragma once

#include <cstdint>
#include <mutex>

namespace penstock {

// Thread-safe. A reader takes its bytes whenever the balance is positive, and
// may overdraw it. So a record larger than the burst can pass, and later reads
// wait for the debt. Over time the rate is exact.
class TokenBucket {
 public:
  // Largest balance, in seconds of the rate.
  static constexpr double kBurstSeconds = 0.1;

  // rate_bytes_per_s 0: no limit. Takes effect for the next take().
  void set_rate(uint64_t rate_bytes_per_s, uint64_t now_ns);

  // Takes the bytes and returns 0. Or takes nothing and returns the time in ns
  // after which another try succeeds, unless another thread takes bytes before.
  // now_ns: of a monotonic clock.
  uint64_t take(uint64_t bytes, uint64_t now_ns);

 private:
  void refill(uint64_t now_ns);

  std::mutex mutex_;
  uint64_t rate_bytes_per_s_ = 0;
  double balance_bytes_ = 0;
  uint64_t filled_ns_ = 0;
};

}  // namespace penstock
