#include "loader/pipeline/token_bucket.h"

#include <algorithm>
#include <cmath>

namespace penstock {

void TokenBucket::refill(uint64_t now_ns) {
  if (now_ns <= filled_ns_) return;
  const double rate = static_cast<double>(rate_bytes_per_s_);
  const double seconds = static_cast<double>(now_ns - filled_ns_) * 1e-9;
  balance_bytes_ =
      std::min(balance_bytes_ + rate * seconds, rate * kBurstSeconds);
  filled_ns_ = now_ns;
}

void TokenBucket::set_rate(uint64_t rate_bytes_per_s, uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  refill(now_ns);
  // A new limit starts without debt for reads before it.
  if (rate_bytes_per_s_ == 0) {
    balance_bytes_ = static_cast<double>(rate_bytes_per_s) * kBurstSeconds;
  }
  rate_bytes_per_s_ = rate_bytes_per_s;
}

uint64_t TokenBucket::take(uint64_t bytes, uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (rate_bytes_per_s_ == 0) return 0;
  refill(now_ns);
  if (balance_bytes_ > 0) {
    balance_bytes_ -= static_cast<double>(bytes);
    return 0;
  }
  const double rate = static_cast<double>(rate_bytes_per_s_);
  return static_cast<uint64_t>(std::ceil(-balance_bytes_ / rate * 1e9)) + 1;
}

}  // namespace penstock
