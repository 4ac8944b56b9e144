// Timing of the checks on a stalled exchange. Pure: the caller passes the time.
#pragma once

#include <chrono>
#include <optional>

namespace penstock::exchange {

// Used by one thread at a time.
class Watch {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Watch(double timeout_s, Time now)
      : timeout_s_(timeout_s), begun_(now), listened_(now) {}

  // Starts the time-out of an exchange.
  void begin(Time now) { begun_ = now; }

  // Called often while an exchange is stalled: whether a check for other ranks'
  // failures is due, which it is every 10 ms.
  bool is_due(Time now) {
    const auto unheard = now - listened_;
    if (unheard < kListen) return false;
    listened_ = now;
    if (unheard > kAway) begun_ = now;
    return true;
  }

  // After is_due() returned true: the seconds since begin(), if more than the
  // time-out.
  std::optional<double> overdue_s() const {
    const std::chrono::duration<double> taken = listened_ - begun_;
    if (taken.count() <= timeout_s_) return std::nullopt;
    return taken.count();
  }

 private:
  static constexpr auto kListen = std::chrono::milliseconds(10);
  // A longer gap between checks restarts the time-out. A job that was
  // suspended, or a rank without a thread that was busy elsewhere, could not
  // see messages that came meanwhile.
  static constexpr auto kAway = std::chrono::seconds(1);

  double timeout_s_;
  Time begun_, listened_;
};

}  // namespace penstock::exchange
