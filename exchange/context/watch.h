// When somebody looks whether an exchange that stands still will ever go on.
// Pure: the time is the caller's.
#pragma once

#include <chrono>
#include <optional>

namespace penstock::exchange {

// For one thread at a time.
class Watch {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Watch(double timeout_s, Time now)
      : timeout_s_(timeout_s), begun_(now), listened_(now) {}

  // An exchange begins.
  void begin(Time now) { begun_ = now; }

  // Often asked, of an exchange that does not go on: whether to listen for
  // other ranks' failures now.
  bool is_due(Time now) {
    const auto unheard = now - listened_;
    if (unheard < kListen) return false;
    listened_ = now;
    if (unheard > kAway) begun_ = now;
    return true;
  }

  // When it was due: how long the exchange has taken, if that is longer than it
  // may.
  std::optional<double> overdue_s() const {
    const std::chrono::duration<double> taken = listened_ - begun_;
    if (taken.count() <= timeout_s_) return std::nullopt;
    return taken.count();
  }

 private:
  static constexpr auto kListen = std::chrono::milliseconds(10);
  // Who has not looked for so long, as a job that was stopped for a while, or a
  // rank without a thread that did something else, cannot say that nothing
  // came.
  static constexpr auto kAway = std::chrono::seconds(1);

  double timeout_s_;
  Time begun_, listened_;
};

}  // namespace penstock::exchange
