// One run of a simulator: its random numbers, the record of its last actions,
// and its failure. The same seed and steps give the same run. Not thread-safe.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace penstock::model {

class Trial {
 public:
  // program: how the simulator is called, for the replay line.
  Trial(std::string program, uint64_t seed, uint64_t steps)
      : program_(std::move(program)),
        seed_(seed),
        steps_(steps),
        random_(seed) {}

  uint64_t steps() const { return steps_; }
  uint64_t step() const { return step_; }
  void begin_step() { ++step_; }

  uint64_t below(uint64_t bound) { return random_() % bound; }
  bool one_in(uint64_t chances) { return below(chances) == 0; }
  double between(double low, double high) {
    return low + (high - low) * double(random_() >> 11) * 0x1p-53;
  }
  template <class T>
  const T& one_of(const std::vector<T>& values) {
    return values[below(values.size())];
  }

  // Records an action for the failure's message.
  template <class... Args>
  void did(fmt::format_string<Args...> format, Args&&... args) {
    if (actions_.size() >= kKept) actions_.pop_front();
    actions_.push_back(fmt::format("{}: ", step_) +
                       fmt::format(format, std::forward<Args>(args)...));
  }

  // Ends the program with status 1 if an invariant does not hold: prints it,
  // the seed, the step and the last actions.
  template <class... Args>
  void must(bool holds, fmt::format_string<Args...> format,
            Args&&... args) const {
    if (!holds) fail(fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void fail(const std::string& text) const;

 private:
  static constexpr size_t kKept = 60;

  std::string program_;
  uint64_t seed_;
  uint64_t steps_;
  uint64_t step_ = 0;
  std::mt19937_64 random_;
  std::deque<std::string> actions_;
};

// main() of a simulator: runs `run` for each seed of the command line.
//
//   PROGRAM [--seed N|fresh]... [--seeds COUNT] [--steps M]
//
// Each seed stands for COUNT (1) in a row; M steps each (100,000). Prints every
// seed before its run.
int run_trials(int argc, char** argv, void (*run)(Trial&));

}  // namespace penstock::model
