// How to wait for what has to be asked for again and again.
#pragma once

#include <chrono>
#include <thread>

namespace penstock::exchange {

// Others run at once; after a while also on a processor that only we want.
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
