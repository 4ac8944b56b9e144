// Times one thread's selection, beside a copy of as many elements:
//   penstock-select-bench ROUNDS
// prints a line of JSON for each round. `penstock bench exchange` runs it.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "bench/exchange/warm_start.h"
#include "common/clock.h"
#include "common/units.h"
#include "exchange/select/kth_magnitude.h"
#include "exchange/select/select_pass.h"

namespace penstock::exchange {
namespace {

constexpr size_t kElements = size_t{1} << 24;
constexpr double kDensity = 0.01;
constexpr double kSlackOfRoom = 1.25;  // as in messages
// Steps of a round: one interval between exact thresholds, so that the exact
// search counts with its share.
constexpr uint32_t kSteps = 64;

double seconds_since(uint64_t begin_ns) {
  return double(monotonic_ns() - begin_ns) * 1e-9;
}

class SelectBench {
 public:
  SelectBench() {
    const WarmStart warm = warm_start(stream_, kDensity, residual_);
    step_ = warm.steps;
  }

  void print_round() {
    double copy_s = 0, pass_s = 0, exact_s = 0;
    for (uint32_t i = 0; i < kSteps; ++i) {
      stream_.fill(step_++, gradient_);
      const bool is_copy_first = i % 2 == 0;
      if (is_copy_first) copy_s += copy();
      exact_s += find_threshold();
      pass_s += select();
      if (!is_copy_first) copy_s += copy();
    }
    fmt::print(
        "{{\"memcpy_s\": {}, \"pass_s\": {}, \"exact_s\": {}, "
        "\"taken_share\": {}, \"exact_steps\": {}}}\n",
        copy_s / kSteps, pass_s / kSteps, exact_s / kSteps,
        double(taken_) / kSteps / double(kWanted), exact_steps_);
    std::fflush(stdout);
    taken_ = exact_steps_ = 0;
  }

 private:
  static constexpr size_t kWanted = size_t(kDensity * kElements);

  double copy() {
    const uint64_t begin_ns = monotonic_ns();
    std::memcpy(copied_.data(), gradient_.data(), kElements * sizeof(float));
    return seconds_since(begin_ns);
  }

  // The exact threshold of residual + gradient, which are added up for it.
  double find_threshold() {
    if (!threshold_.wants_exact()) return 0;
    ++exact_steps_;
    const uint64_t begin_ns = monotonic_ns();
    for (size_t i = 0; i < kElements; ++i) {
      copied_[i] = residual_[i] + gradient_[i];
    }
    threshold_.set_exact(kth_magnitude(copied_, kWanted));
    return seconds_since(begin_ns);
  }

  double select() {
    const uint64_t begin_ns = monotonic_ns();
    const SelectPass found = accumulate_and_select(
        gradient_, residual_, threshold_.value(), 0, {indices_, values_});
    const double took_s = seconds_since(begin_ns);
    threshold_.correct(found.candidates);
    taken_ += found.taken;
    return took_s;
  }

  static constexpr size_t kRoom = size_t(kSlackOfRoom * double(kWanted));
  GradientStream stream_{0};
  std::vector<float> gradient_ = std::vector<float>(kElements);
  std::vector<float> residual_ = std::vector<float>(kElements);
  std::vector<float> copied_ = std::vector<float>(kElements);
  std::vector<uint32_t> indices_ = std::vector<uint32_t>(kRoom);
  std::vector<float> values_ = std::vector<float>(kRoom);
  Threshold threshold_{kWanted, kSteps};
  uint32_t step_ = 0;
  uint64_t taken_ = 0;
  uint32_t exact_steps_ = 0;
};

Status run(const std::vector<std::string>& words) {
  if (words.size() != 1) return invalid("usage: penstock-select-bench ROUNDS");
  const auto rounds = parse_uint(words[0], 1, 1000);
  if (!rounds) return rounds.error();
  SelectBench bench;
  for (uint64_t round = 0; round < *rounds; ++round) bench.print_round();
  return Done{};
}

}  // namespace
}  // namespace penstock::exchange

int main(int argc, char** argv) {
  try {
    const penstock::Status done =
        penstock::exchange::run({argv + 1, argv + argc});
    if (done) return 0;
    std::fprintf(stderr, "penstock-select-bench: %s\n",
                 done.error().message.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "penstock-select-bench: %s\n", error.what());
  }
  return 1;
}
