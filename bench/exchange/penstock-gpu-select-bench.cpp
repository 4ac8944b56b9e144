// Times a GPU's selection, beside a copy and a sort of as many elements:
//   penstock-gpu-select-bench ROUNDS
// prints a line of JSON for each round. `penstock bench exchange` runs it.
// Exits with 77 if there is no GPU.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/exchange/gpu_sort.h"
#include "bench/exchange/warm_start.h"
#include "common/clock.h"
#include "common/units.h"
#include "exchange/cuda/cuda_device.h"
#include "exchange/cuda/kernels.h"

namespace penstock::exchange {
namespace {

constexpr size_t kElements = size_t{1} << 24;
constexpr double kDensity = 0.01;
constexpr size_t kWanted = size_t(kDensity * kElements);
constexpr size_t kRoom = kWanted * 5 / 4;  // as in messages
// One interval between exact thresholds.
constexpr uint32_t kSteps = 64;
constexpr int kNoGpu = 77;

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

void check(const Status& status) {
  if (!status) throw std::runtime_error(status.error().message);
}

template <class T>
T* memory_of(size_t count) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, count * sizeof(T)));
  check(cudaMemset(memory, 0, count * sizeof(T)));
  return static_cast<T*>(memory);
}

// Its memory is freed when the process ends.
class GpuSelectBench {
 public:
  GpuSelectBench() {
    check(cudaEventCreate(&begin_));
    check(cudaEventCreate(&end_));
    auto device = open_cuda_device(0);
    if (!device) throw std::runtime_error(device.error().message);
    device_ = *std::move(device);
    check(device_->reserve(1, kRoom));
    const WarmStart warm = warm_start(stream_, kDensity, host_);
    step_ = warm.steps;
    upload(residual_.wide);
    check(gpu_sort(residual_.wide, kElements, sort_));
    sort_.room = memory_of<char>(sort_.room_bytes);
  }

  void print_round() {
    double copy_s = 0, add_s = 0, exact_s = 0, pass_s = 0, sort_s = 0,
           whole_s = 0;
    uint64_t taken = 0;
    uint32_t exact_steps = 0;
    for (uint32_t i = 0; i < kSteps; ++i) {
      stream_.fill(step_++, host_);
      upload(gradient_);
      copy_s += timed([&] {
        check(cudaMemcpyAsync(copied_, gradient_, kElements * sizeof(float),
                              cudaMemcpyDeviceToDevice));
      });
      add_s += timed([&] { add_gradient(gradient_, residual_, nullptr); });
      if (threshold_.wants_exact()) {
        ++exact_steps;
        exact_s += timed(
            [&] { find_kth(residual_, uint32_t(kWanted), kth_, nullptr); });
        threshold_.set_exact(device_->kth_magnitude(residual_, kWanted));
      }
      sort_s +=
          timed([&] { check(gpu_sort(residual_.wide, kElements, sort_)); });
      if (i % 2 == 0) {
        pass_s += select_only();
      } else {
        whole_s += select_to_host(taken);
      }
    }
    // select_only() and select_to_host() each ran in every other step.
    std::printf(
        "{\"memcpy_s\": %g, \"accumulate_s\": %g, \"exact_s\": %g, "
        "\"select_s\": %g, \"to_host_s\": %g, \"sort_s\": %g, "
        "\"taken_share\": %g, \"exact_steps\": %u}\n",
        copy_s / kSteps, add_s / kSteps, exact_s / kSteps, pass_s * 2 / kSteps,
        whole_s * 2 / kSteps, sort_s / kSteps,
        double(taken) * 2 / kSteps / double(kWanted), exact_steps);
    std::fflush(stdout);
  }

 private:
  void upload(float* target) {
    check(cudaMemcpy(target, host_.data(), kElements * sizeof(float),
                     cudaMemcpyHostToDevice));
  }

  template <class Work>
  double timed(const Work& work) {
    check(cudaEventRecord(begin_));
    work();
    check(cudaEventRecord(end_));
    check(cudaEventSynchronize(end_));
    check(cudaGetLastError());
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return double(milliseconds) * 1e-3;
  }

  double select_only() {
    check(cudaMemset(found_, 0, sizeof(DeviceFound)));
    const double took_s = timed([&] {
      select(residual_, 0, kElements, threshold_.value(), room_, found_,
             nullptr);
    });
    DeviceFound found;
    check(cudaMemcpy(&found, found_, sizeof found, cudaMemcpyDeviceToHost));
    threshold_.correct(found.candidates);
    return took_s;
  }

  // As in an exchange: entries are copied to the host.
  double select_to_host(uint64_t& taken) {
    const uint64_t begin_ns = monotonic_ns();
    const SelectPass found = device_->select(
        residual_, 0, kElements, threshold_.value(), {host_indices_, values_});
    const double took_s = double(monotonic_ns() - begin_ns) * 1e-9;
    check(device_->status());
    threshold_.correct(found.candidates);
    taken += found.taken;
    return took_s;
  }

  template <class T>
  static std::span<T> pinned(size_t count) {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, count * sizeof(T), cudaHostAllocPortable));
    return {static_cast<T*>(memory), count};
  }

  GradientStream stream_{0};
  std::vector<float> host_ = std::vector<float>(kElements);
  float* gradient_ = memory_of<float>(kElements);
  float* copied_ = memory_of<float>(kElements);
  DeviceResidual residual_{memory_of<float>(kElements), nullptr, kElements, 0};
  DeviceFound* found_ = memory_of<DeviceFound>(1);
  DeviceKth* kth_ = memory_of<DeviceKth>(1);
  DeviceRoom room_{memory_of<uint32_t>(kRoom), memory_of<float>(kRoom),
                   uint32_t(kRoom)};
  GpuSort sort_{memory_of<float>(kElements), memory_of<float>(kElements),
                memory_of<uint32_t>(kElements), memory_of<uint32_t>(kElements)};
  std::span<uint32_t> host_indices_ = pinned<uint32_t>(kRoom);
  std::span<float> values_ = pinned<float>(kRoom);
  std::unique_ptr<Device> device_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  Threshold threshold_{kWanted, kSteps};
  uint32_t step_ = 0;
};

int run(const std::vector<std::string>& words) {
  if (words.size() != 1) {
    throw std::runtime_error("usage: penstock-gpu-select-bench ROUNDS");
  }
  const auto rounds = parse_uint(words[0], 1, 1000);
  if (!rounds) throw std::runtime_error(rounds.error().message);
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) return kNoGpu;
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, 0));
  std::printf("{\"gpu\": \"%s\"}\n", properties.name);
  GpuSelectBench bench;
  for (uint64_t round = 0; round < *rounds; ++round) bench.print_round();
  return 0;
}

}  // namespace
}  // namespace penstock::exchange

int main(int argc, char** argv) {
  try {
    return penstock::exchange::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "penstock-gpu-select-bench: %s\n", error.what());
  }
  return 1;
}
