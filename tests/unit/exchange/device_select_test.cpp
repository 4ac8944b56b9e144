// The GPU's selection beside the CPU's. Without a GPU it skips itself.
#include "exchange/cuda/device_select.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <map>
#include <random>
#include <span>
#include <vector>

#include "exchange/select/kth_magnitude.h"
#include "exchange/select/select_pass.h"
#define CATCH_CONFIG_RUNNER
#include "tests/unit/catch.h"

using namespace penstock;
using namespace penstock::exchange;

namespace {

constexpr int kSkipped = 77;

// Memory that both reach, with zeros.
template <class T>
class Shared {
 public:
  explicit Shared(size_t count) : count_(count) {
    void* memory = nullptr;
    REQUIRE(cudaMallocManaged(&memory, count * sizeof(T)) == cudaSuccess);
    data_ = static_cast<T*>(memory);
    std::fill_n(data_, count, T());
  }
  ~Shared() { cudaFree(data_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  T* data() { return data_; }
  std::span<T> all() { return {data_, count_}; }
  T& operator[](size_t i) { return data_[i]; }

 private:
  T* data_ = nullptr;
  size_t count_;
};

void synchronise() { REQUIRE(cudaDeviceSynchronize() == cudaSuccess); }

std::vector<float> some_values(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

}  // namespace

TEST_CASE("the GPU picks out what the CPU does") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  for (const size_t elements : {1, 31, 32, 257, 100'000, 1'000'003}) {
    CAPTURE(elements);
    const std::vector<float> gradient = some_values(elements, seed);
    std::vector<float> residual = some_values(elements, seed + 1);
    Shared<float> given(elements), kept(elements), values(elements);
    Shared<uint32_t> indices(elements);
    Shared<DeviceFound> found(1);
    std::copy(gradient.begin(), gradient.end(), given.data());
    std::copy(residual.begin(), residual.end(), kept.data());
    REQUIRE(accumulate_and_select_on_device(
                given.data(), kept.data(), elements, 2.5f, 1000,
                {indices.data(), values.data(), uint32_t(elements)},
                found.data(), nullptr)
                .ok());
    synchronise();
    std::vector<uint32_t> cpu_indices(elements);
    std::vector<float> cpu_values(elements);
    const SelectPass expected = accumulate_and_select(
        gradient, residual, 2.5f, 1000, {cpu_indices, cpu_values});
    REQUIRE(found[0].candidates == expected.taken);
    CHECK(found[0].is_not_finite == 0);
    CHECK(std::equal(residual.begin(), residual.end(), kept.data()));
    std::map<uint32_t, float> on_gpu, on_cpu;
    for (size_t i = 0; i < expected.taken; ++i) {
      on_gpu[indices[i]] = values[i];
      on_cpu[cpu_indices[i]] = cpu_values[i];
    }
    CHECK(on_gpu == on_cpu);
  }
}

TEST_CASE("what has no room stays, and what is not finite is seen") {
  constexpr size_t kElements = 10'000;
  Shared<float> kept(kElements), values(100);
  Shared<uint32_t> indices(100);
  Shared<DeviceFound> found(1);
  std::fill(kept.all().begin(), kept.all().end(), 3.0f);
  kept[7777] = std::nanf("");
  REQUIRE(accumulate_and_select_on_device(nullptr, kept.data(), kElements, 1, 0,
                                          {indices.data(), values.data(), 100},
                                          found.data(), nullptr)
              .ok());
  synchronise();
  CHECK(found[0].candidates == kElements);
  CHECK(found[0].is_not_finite == 1);
  CHECK(std::count(kept.all().begin(), kept.all().end(), 0.0f) == 100);
}

TEST_CASE("the GPU finds the CPU's threshold") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  for (const size_t elements : {1, 1000, 1'000'003}) {
    const std::vector<float> values = some_values(elements, seed);
    Shared<float> given(elements);
    Shared<DeviceKth> kth(1);
    std::copy(values.begin(), values.end(), given.data());
    for (const size_t k : {size_t(1), elements / 100 + 1, elements}) {
      CAPTURE(elements, k);
      REQUIRE(kth_magnitude_on_device(given.data(), elements, uint32_t(k),
                                      kth.data(), nullptr)
                  .ok());
      synchronise();
      CHECK(std::bit_cast<float>(kth[0].prefix) == kth_magnitude(values, k));
    }
  }
}

TEST_CASE("sums are added where they belong") {
  Shared<float> target(1000), values(2);
  Shared<uint32_t> indices(2);
  indices[0] = 999;
  values[0] = 4;
  indices[1] = 0;
  values[1] = -2;
  REQUIRE(add_scaled_on_device(indices.data(), values.data(), 2, 0.5f,
                               target.data(), nullptr)
              .ok());
  synchronise();
  CHECK(target[999] == 2);
  CHECK(target[0] == -1);
  CHECK(target[500] == 0);
}

int main(int count, char** arguments) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("skipped: there is no GPU");
    return kSkipped;
  }
  return Catch::Session().run(count, arguments);
}
