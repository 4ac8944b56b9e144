// Waiting between polls of an operation.
#pragma once

#include <chrono>
#include <thread>

namespace penstock::exchange {

// Yields for the first 200 waits, so that waiting threads of this processor
// run. Then sleeps for 20 us a wait, so that it does not keep an otherwise idle
// processor busy.
class Pause {
 public:
  void wait() {
    if (waits_ < kYields) {
      ++waits_;
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kSleep);
    }
  }
  void reset() { waits_ = 0; }

 private:
  static constexpr int kYields = 200;
  static constexpr std::chrono::microseconds kSleep{20};
  int waits_ = 0;
};

}  // namespace penstock::exchange
