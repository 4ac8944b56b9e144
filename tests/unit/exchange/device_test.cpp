// The GPU's part of an exchange, compared with the CPU's.
#include "exchange/device/device.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "exchange/cuda/cuda_device.h"
#include "exchange/sparse/residual.h"
#include "tests/unit/catch.h"
#include "tests/unit/exchange/on_device.h"

using namespace penstock;
using namespace penstock::exchange;
using namespace penstock::exchange::test;

namespace {

constexpr size_t kSizes[] = {1, 31, 32, 257, 20'003};
constexpr size_t kStaging = 4096;  // the least that there is

std::unique_ptr<Device> some_device() {
  auto device = open_cuda_device(0);
  REQUIRE(device.ok());
  REQUIRE((*device)->reserve(1, kStaging).ok());
  return std::move(*device);
}

std::vector<float> some_values(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

struct Entries {
  explicit Entries(size_t room) : indices(room), values(room) {}
  SparseRoom room() { return {indices, values}; }
  std::map<uint32_t, float> first(size_t count) const {
    std::map<uint32_t, float> taken;
    for (size_t i = 0; i < count; ++i) taken[indices[i]] = values[i];
    CHECK(taken.size() == count);
    return taken;
  }
  std::vector<uint32_t> indices;
  std::vector<float> values;
};

// The same residual on the GPU and on the CPU.
struct Both {
  Both(size_t elements, bool is_rounded, Device& device)
      : cpu_memory(std::move(*Arena::of(elements * 4 + 64))),
        gpu_memory(std::move(*Arena::of(elements * 4 + 64, &device.memory()))),
        on_cpu(is_rounded ? Residual::bfloat16(elements, cpu_memory)
                          : Residual::float32(elements, cpu_memory)),
        on_gpu(Residual::on(
            device, is_rounded ? Residual::bfloat16(elements, gpu_memory)
                               : Residual::float32(elements, gpu_memory))) {}
  void check_same() const {
    std::vector<float> cpu(on_cpu.size()), gpu(on_cpu.size());
    on_cpu.read(cpu);
    on_gpu.read(gpu);
    CHECK(cpu == gpu);
  }
  void write(const std::vector<float>& values) {
    on_cpu.write(values);
    on_gpu.write(values);
  }
  Arena cpu_memory, gpu_memory;
  Residual on_cpu, on_gpu;
};

}  // namespace

TEST_CASE("a GPU adds gradients and rounds like a CPU") {
  const unsigned seed = std::random_device{}();
  const bool is_rounded = GENERATE(false, true);
  CAPTURE(seed, is_rounded);
  const auto device = some_device();
  const OwnStream stream;
  for (const size_t elements : kSizes) {
    CAPTURE(elements);
    Both both(elements, is_rounded, *device);
    for (const unsigned step : {0u, 1u, 77u}) {
      const auto gradient = some_values(elements, seed + step);
      const OnDevice<float> given(gradient);
      both.on_cpu.set_step(step);
      both.on_gpu.set_step(step);
      both.on_cpu.accumulate(gradient);
      both.on_gpu.accumulate(given.data(), stream.get());
      device->mark(0, stream.get());
      device->wait_for_mark(0);
      both.check_same();
    }
  }
  CHECK(device->status().ok());
}

TEST_CASE("a GPU selects the same elements as a CPU") {
  const unsigned seed = std::random_device{}();
  const bool is_rounded = GENERATE(false, true);
  CAPTURE(seed, is_rounded);
  const auto device = some_device();
  for (const size_t elements : kSizes) {
    // At low thresholds more elements than fit into the staging memory.
    for (const float threshold : {0.01f, 2.5f, 100.0f}) {
      CAPTURE(elements, threshold);
      Both both(elements, is_rounded, *device);
      both.write(some_values(elements, seed));
      const size_t first = elements / 3, size = elements - elements / 3;
      Entries cpu(elements), gpu(elements);
      const SelectPass expected =
          both.on_cpu.select({}, first, size, threshold, cpu.room());
      const SelectPass found =
          both.on_gpu.select({}, first, size, threshold, gpu.room());
      CHECK(found.taken == expected.taken);
      CHECK(found.candidates == expected.candidates);
      CHECK(found.is_finite);
      CHECK(gpu.first(found.taken) == cpu.first(expected.taken));
      both.check_same();
    }
  }
}

TEST_CASE("selected elements without room stay in the GPU's residual") {
  const size_t room = GENERATE(size_t(1), size_t(100), kStaging, kStaging + 1);
  CAPTURE(room);
  constexpr size_t kElements = 10'000;
  const auto device = some_device();
  Both both(kElements, false, *device);
  both.write(std::vector<float>(kElements, 3));
  Entries taken(room);
  const SelectPass found =
      both.on_gpu.select({}, 0, kElements, 1, taken.room());
  CHECK(found.taken == room);
  CHECK(found.candidates == kElements);
  std::vector<float> left(kElements);
  both.on_gpu.read(left);
  for (const auto& [index, value] : taken.first(room)) {
    CHECK(value == 3);
    CHECK(left[index] == 0);
  }
  CHECK(size_t(std::count(left.begin(), left.end(), 0.0f)) == room);
}

TEST_CASE("a GPU detects and selects non-finite elements") {
  const float value = GENERATE(std::nanf(""), -INFINITY);
  const bool is_rounded = GENERATE(false, true);
  CAPTURE(value, is_rounded);
  const auto device = some_device();
  Both both(1000, is_rounded, *device);
  std::vector<float> values(1000, 0.5f);
  values[777] = value;
  both.write(values);
  Entries taken(10);
  const SelectPass found = both.on_gpu.select({}, 0, 1000, 1, taken.room());
  CHECK_FALSE(found.is_finite);
  CHECK(found.taken == 1);
  CHECK(taken.indices[0] == 777);
}

TEST_CASE("a GPU finds the same threshold as a CPU") {
  const unsigned seed = std::random_device{}();
  const bool is_rounded = GENERATE(false, true);
  CAPTURE(seed, is_rounded);
  const auto device = some_device();
  for (const size_t elements : kSizes) {
    Both both(elements, is_rounded, *device);
    both.write(some_values(elements, seed));
    for (const size_t k : {size_t(1), elements / 100 + 1, elements}) {
      CAPTURE(elements, k);
      CHECK(both.on_gpu.kth_magnitude(k) == both.on_cpu.kth_magnitude(k));
    }
  }
}

TEST_CASE("entries can be returned to a residual on the GPU") {
  const unsigned seed = std::random_device{}();
  const bool is_rounded = GENERATE(false, true);
  CAPTURE(seed, is_rounded);
  constexpr size_t kElements = 20'000, kEntries = 2 * kStaging + 5;
  const auto device = some_device();
  Both both(kElements, is_rounded, *device);
  both.write(some_values(kElements, seed));
  const std::vector<float> values = some_values(kEntries, seed + 1);
  std::vector<uint32_t> indices(kEntries);
  for (size_t i = 0; i < kEntries; ++i) {
    indices[i] = uint32_t(kElements - 1 - 2 * i);
  }
  both.on_cpu.add({indices, values});
  both.on_gpu.add({indices, values});
  both.check_same();
}

TEST_CASE("sums are added to weights in GPU memory") {
  const auto device = some_device();
  constexpr size_t kElements = 2 * kStaging + 3;
  const OnDevice<float> weights(std::vector<float>(kElements, 1));
  const std::vector<uint32_t> indices = {kElements - 1, 0};
  const std::vector<float> values = {4, -2};
  device->add_scaled(SparseView{indices, values}, 0.5f, weights.data());
  Arena pinned = std::move(*Arena::of(kElements * 4 + 64, &device->pinned()));
  const auto sums = pinned.take<float>(kElements);
  std::ranges::fill(sums, 2.0f);
  device->add_scaled(sums, -1, weights.data());
  device->finish();
  std::vector<float> expected(kElements, -1);
  expected[kElements - 1] = 1;
  expected[0] = -2;
  CHECK(weights.values() == expected);
  device->clear(weights.data(), 2);
  device->finish();
  CHECK(weights.values()[1] == 0);
  CHECK(weights.values()[2] == -1);
}

TEST_CASE(
    "a gradient is read after earlier work of its stream, not after later "
    "work") {
  const auto device = some_device();
  REQUIRE(device->reserve(2, kStaging).ok());
  const OwnStream stream;
  Both both(3, false, *device);
  const OnDevice<float> gradient({0, 0, 0});
  std::vector<float> host = {1, 2, 3}, other = {4, 5, 6};
  const auto enqueue = [&](const std::vector<float>& values) {
    check_cuda(cudaMemcpyAsync(gradient.data(), values.data(), 12,
                               cudaMemcpyDefault, stream.get()));
  };
  std::vector<float> copied(3);
  enqueue(host);
  both.on_gpu.accumulate(gradient.data(), stream.get());
  device->mark(0, stream.get());
  enqueue(other);  // as the memory's next owner does
  device->copy_out(gradient.data(), copied, stream.get());
  device->mark(1, stream.get());
  device->wait_for_mark(1);
  CHECK(copied == other);
  std::vector<float> sums(3);
  both.on_gpu.read(sums);
  CHECK(sums == host);
}

TEST_CASE("an unknown GPU number is an error") {
  const auto device = open_cuda_device(9999);
  REQUIRE_FALSE(device.ok());
  CHECK(device.error().code == Code::kUnavailable);
  CHECK_THAT(device.error().message,
             Catch::Matchers::ContainsSubstring("no GPU 9999 to exchange on"));
}
