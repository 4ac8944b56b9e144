// Random numbers and profiles for property tests. The seed is
// PENSTOCK_TEST_SEED if that is set, else a new one, and printed.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "predictor/profile.h"

namespace penstock {

class Random {
 public:
  explicit Random(const char* test) {
    const char* given = std::getenv("PENSTOCK_TEST_SEED");
    const unsigned long long seed =
        given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::printf("%s: PENSTOCK_TEST_SEED=%llu\n", test, seed);
    engine_.seed(seed);
  }

  double real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
  }
  // Uniform in the logarithm.
  double scaled(double low, double high) {
    return std::exp(real(std::log(low), std::log(high)));
  }
  int whole(int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(engine_);
  }
  bool chance(double probability) { return real(0, 1) < probability; }

 private:
  std::mt19937_64 engine_;
};

// A measured profile. A curve's rates need not rise.
inline Profile random_profile(Random& random) {
  Profile out;
  out.name = "random \"\\ " + std::to_string(random.whole(0, 9));
  out.accelerator_s_per_sample = random.scaled(1e-5, 10);
  const double cost = out.accelerator_s_per_sample * random.scaled(0.1, 20);
  if (random.chance(0.3)) out.loader_cpu_s_per_sample = cost;
  if (random.chance(0.7))
    out.trainer_cpu_s_per_sample =
        out.accelerator_s_per_sample * random.scaled(0.01, 1);
  if (random.chance(0.8)) out.bytes_per_sample = random.scaled(10, 1e7);
  if (random.chance(0.7)) out.cached_share = random.real(0, 1);
  if (random.chance(0.5)) out.relative_error = random.real(0, 0.99);
  const int points = random.chance(0.8) ? random.whole(1, 8) : 0;
  const bool named = random.chance(0.7);
  double at = 0;
  for (int i = 0; i < points; ++i) {
    at = named ? at + random.real(0.1, 2) : at + 1;
    if (named) out.cores.push_back(at);
    out.rate_at_cores.push_back(at / cost * random.real(0.5, 1));
  }
  if (random.chance(0.8))
    out.fetch_bytes_per_s = std::max(1.0, out.bytes_per_sample) /
                            out.accelerator_s_per_sample *
                            random.scaled(0.1, 10);
  if (random.chance(0.5)) out.memory_bytes_per_s = random.scaled(1e6, 1e11);
  if (random.chance(0.5)) out.dataset_bytes = random.scaled(1, 1e18);
  if (random.chance(0.5)) out.dataset_samples = random.whole(1, 1000000);
  if (random.chance(0.5)) out.cache_bytes = random.scaled(1, 1e18);
  if (random.chance(0.5)) out.loader_threads = random.whole(1, 16);
  if (random.chance(0.5)) out.ranks = random.whole(1, 8);
  if (random.chance(0.7)) out.corner_ceiling = random.scaled(1, 64);
  if (random.chance(0.7)) out.corner_storage = random.scaled(1, 64);
  return out;
}

}  // namespace penstock
