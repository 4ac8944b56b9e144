#include "bench/exchange/warm_start.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "exchange/select/kth_magnitude.h"
#include "exchange/select/select_pass.h"

namespace penstock::exchange {
namespace {

constexpr size_t kPart = 256 * GradientStream::kPeriod;
constexpr double kMostSteps = 1000;
constexpr uint32_t kExactSteps = 64;

void copy_over_and_over(std::span<const float> part, std::span<float> whole) {
  for (size_t i = 0; i < whole.size(); i += part.size()) {
    std::copy_n(part.begin(), std::min(part.size(), whole.size() - i),
                whole.begin() + std::ptrdiff_t(i));
  }
}

}  // namespace

WarmStart warm_start(const GradientStream& stream, double density,
                     std::span<float> residual) {
  const size_t size = std::min(kPart, residual.size());
  const size_t wanted = std::max<size_t>(1, size_t(density * double(size)));
  std::vector<float> part(size), gradient(size), values(size);
  std::vector<uint32_t> indices(size);
  Threshold threshold(wanted, kExactSteps);
  const auto steps = uint32_t(std::min(kMostSteps, std::ceil(2 / density)));
  for (uint32_t step = 0; step < steps; ++step) {
    stream.fill(step, gradient);
    if (threshold.wants_exact()) {
      for (size_t i = 0; i < size; ++i) values[i] = part[i] + gradient[i];
      threshold.set_exact(kth_magnitude(values, wanted));
    }
    const SelectPass found = accumulate_and_select(
        gradient, part, threshold.value(), 0, {indices, values});
    threshold.correct(found.candidates);
  }
  copy_over_and_over(part, residual);
  return {threshold.value(), steps};
}

}  // namespace penstock::exchange
