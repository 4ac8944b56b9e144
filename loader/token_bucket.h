// Keeps the loader's reads at a rate. Pure but for its lock: time is an
// argument.
#pragma once

#include <cstdint>
#include <mutex>

namespace penstock {

// Thread-safe. A reader takes its bytes when the balance is positive and may
// overdraw it, so a record larger than the burst passes too and the next ones
// wait for it; over time the rate holds exactly.
class TokenBucket {
 public:
  // What may gather while nobody reads.
  static constexpr double kBurstSeconds = 0.1;

  // rate_bytes_per_s 0: no limit. Takes effect for the next take().
  void set_rate(uint64_t rate_bytes_per_s, uint64_t now_ns);

  // Takes the bytes and returns 0, or takes nothing and returns the time after
  // which another try succeeds if nobody else takes before.
  // now_ns: a clock that never goes back.
  uint64_t take(uint64_t bytes, uint64_t now_ns);

 private:
  void refill(uint64_t now_ns);

  std::mutex mutex_;
  uint64_t rate_bytes_per_s_ = 0;
  double balance_bytes_ = 0;
  uint64_t filled_ns_ = 0;
};

}  // namespace penstock
