#include "exchange/cuda/cuda_device.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "exchange/cuda/cuda_memory.h"
#include "exchange/cuda/kernels.h"

namespace penstock::exchange {
namespace {

cudaStream_t cuda_stream(Device::Stream stream) {
  return static_cast<cudaStream_t>(stream);
}

class CudaDevice : public Device {
 public:
  explicit CudaDevice(int number)
      : number_(number),
        memory_(number, CudaMemory::Kind::kDevice),
        pinned_(number, CudaMemory::Kind::kPinned) {}

  ~CudaDevice() override {
    const CudaCurrent current(number_);
    for (cudaEvent_t event : marks_) cudaEventDestroy(event);
    if (own_ != nullptr) cudaStreamDestroy(own_);
  }

  Status open() {
    const CudaCurrent current(number_);
    cudaError_t error = current.error();
    // Non-blocking: must not wait for work on the default stream.
    if (error == cudaSuccess) {
      error = cudaStreamCreateWithFlags(&own_, cudaStreamNonBlocking);
    }
    if (error == cudaSuccess) return Done{};
    return Error{Code::kUnavailable, 0,
                 "no GPU " + std::to_string(number_) +
                     " to exchange on: " + cudaGetErrorString(error)};
  }

  MemorySource& memory() override { return memory_; }
  MemorySource& pinned() override { return pinned_; }
  void enter_thread() override {
    check(cudaSetDevice(number_), "the thread's");
  }
  Status reserve(size_t layers, size_t entries) override {
    const CudaCurrent current(number_);
    while (marks_.size() < layers) {
      cudaEvent_t event = nullptr;
      const cudaError_t made = cudaEventCreateWithFlags(
          &event, cudaEventDisableTiming | cudaEventBlockingSync);
      if (made != cudaSuccess) return cuda_error(made, "an event");
      marks_.push_back(event);
    }
    if (entries == 0) {
      staging_ = {};
      staging_memory_.reset();
      return Done{};
    }
    // At least 4096 entries: residuals are read and written through it, too.
    entries = std::max<size_t>(entries, 4096);
    if (staging_.values.size() == entries) return Done{};
    Arena measured;
    staging_in(measured, entries);
    Result<Arena> memory = Arena::of(measured.used(), &memory_);
    if (!memory) return std::move(memory).error();
    staging_memory_.emplace(std::move(*memory));  // frees the old staging
    staging_ = staging_in(*staging_memory_, entries);
    return Done{};
  }

  size_t reserved_bytes() const override {
    return staging_memory_ ? staging_memory_->capacity() : 0;
  }

  void accumulate(const float* gradient, const DeviceResidual& sums,
                  Stream stream) override {
    const CudaCurrent current(number_);
    begin("the adding of a gradient",
          [&] { add_gradient(gradient, sums, cuda_stream(stream)); });
  }

  void copy_out(const float* gradient, std::span<float> values,
                Stream stream) override {
    const CudaCurrent current(number_);
    copy(values.data(), gradient, values.size_bytes(), stream);
  }

  void mark(int layer, Stream stream) override {
    if (!is_fine()) return;
    const CudaCurrent current(number_);
    check(cudaEventRecord(marks_[size_t(layer)], cuda_stream(stream)),
          "a mark");
  }

  void wait_for_mark(int layer) override {
    if (!is_fine()) return;
    const CudaCurrent current(number_);
    check(cudaEventSynchronize(marks_[size_t(layer)]), "a layer's gradient");
  }

  SelectPass select(const DeviceResidual& residual, size_t first, size_t size,
                    float threshold, SparseRoom room) override {
    const CudaCurrent current(number_);
    SelectPass all;
    // One round, unless the room is larger than the staging.
    for (;;) {
      const DeviceFound found = select_once(
          residual, first, size, threshold,
          {room.indices.subspan(all.taken), room.values.subspan(all.taken)});
      if (all.taken == 0) all.candidates = found.candidates;
      all.is_finite = all.is_finite && found.is_not_finite == 0;
      const size_t taken =
          std::min({size_t(found.candidates), staging_.values.size(),
                    room.values.size() - all.taken});
      all.taken += taken;
      if (taken < staging_.values.size() || all.taken == room.values.size()) {
        return all;
      }
    }
  }

  float kth_magnitude(const DeviceResidual& residual, size_t k) override {
    const CudaCurrent current(number_);
    uint32_t bits = 0;
    const bool is_found =
        begin("the threshold",
              [&] {
                find_kth(residual, static_cast<uint32_t>(k), staging_.kth,
                         own_);
              }) &&
        copy(&bits, &staging_.kth->prefix, sizeof bits, own_) && synchronize();
    return is_found ? std::bit_cast<float>(bits) : 0;
  }

  void add(const SparseView& entries, const DeviceResidual& residual) override {
    add_entries_to(residual, entries, 1);
    finish();
  }

  void read(const DeviceResidual& residual, std::span<float> values) override {
    const CudaCurrent current(number_);
    const size_t step = staging_.values.size();
    for (size_t i = 0; i < values.size(); i += step) {
      const size_t count = std::min(step, values.size() - i);
      const bool is_read =
          begin("the reading of a residual",
                [&] {
                  widen(residual, i, count, staging_.values.data(), own_);
                }) &&
          copy(values.data() + i, staging_.values.data(), count * sizeof(float),
               own_) &&
          synchronize();
      if (!is_read) return;
    }
  }

  void write(std::span<const float> values,
             const DeviceResidual& residual) override {
    const CudaCurrent current(number_);
    const size_t step = staging_.values.size();
    for (size_t i = 0; i < values.size(); i += step) {
      const size_t count = std::min(step, values.size() - i);
      if (!copy(staging_.values.data(), values.data() + i,
                count * sizeof(float), own_)) {
        return;
      }
      const bool is_begun = begin("the writing of a residual", [&] {
        assign(staging_.values.data(), count, residual, i, own_);
      });
      if (!is_begun) return;
    }
    finish();
  }

  void add_scaled(const SparseView& entries, float factor,
                  float* target) override {
    add_entries_to({.wide = target}, entries, factor);
  }

  // Without a copy to the device: the kernel reads each value in pinned memory
  // once, in order.
  void add_scaled(std::span<const float> values, float factor,
                  float* target) override {
    const CudaCurrent current(number_);
    begin("the adding of sums", [&] {
      add_values(values.data(), values.size(), factor, target, own_);
    });
  }

  void clear(float* target, size_t elements) override {
    if (!is_fine()) return;
    const CudaCurrent current(number_);
    check(cudaMemsetAsync(target, 0, elements * sizeof(float), own_), "memory");
  }

  void finish() override {
    const CudaCurrent current(number_);
    if (is_fine()) synchronize();
  }

  Status status() const override {
    const std::lock_guard lock(mutex_);
    return error_ ? Status(Error(*error_)) : Done{};
  }

 private:
  // Device buffers through which entries are copied in and out.
  struct Staging {
    DeviceFound* found = nullptr;
    DeviceKth* kth = nullptr;
    std::span<uint32_t> indices;
    std::span<float> values;
  };
  static Staging staging_in(Arena& arena, size_t entries) {
    return {.found = arena.take<DeviceFound>(1).data(),
            .kth = arena.take<DeviceKth>(1).data(),
            .indices = arena.take<uint32_t>(entries),
            .values = arena.take<float>(entries)};
  }

  // Selected entries go to the front of the room.
  DeviceFound select_once(const DeviceResidual& residual, size_t first,
                          size_t size, float threshold,
                          const SparseRoom& room) {
    const size_t most = std::min(room.values.size(), staging_.values.size());
    DeviceFound found;
    const bool is_found =
        begin("the selection",
              [&] {
                cudaMemsetAsync(staging_.found, 0, sizeof found, own_);
                exchange::select(
                    residual, first, size, threshold,
                    {staging_.indices.data(), staging_.values.data(),
                     static_cast<uint32_t>(most)},
                    staging_.found, own_);
              }) &&
        copy(&found, staging_.found, sizeof found, own_) && synchronize();
    if (!is_found) return {};
    const size_t taken = std::min<size_t>(found.candidates, most);
    if (!copy(room.indices.data(), staging_.indices.data(),
              taken * sizeof(uint32_t), own_) ||
        !copy(room.values.data(), staging_.values.data(), taken * sizeof(float),
              own_) ||
        !synchronize()) {
      return {};
    }
    return found;
  }

  void add_entries_to(const DeviceResidual& target, const SparseView& entries,
                      float factor) {
    const CudaCurrent current(number_);
    const size_t step = staging_.values.size();
    for (size_t i = 0; i < entries.indices.size(); i += step) {
      const size_t count = std::min(step, entries.indices.size() - i);
      if (!copy(staging_.indices.data(), entries.indices.data() + i,
                count * sizeof(uint32_t), own_) ||
          !copy(staging_.values.data(), entries.values.data() + i,
                count * sizeof(float), own_)) {
        return;
      }
      const bool is_begun = begin("the adding of entries", [&] {
        add_entries(staging_.indices.data(), staging_.values.data(), count,
                    factor, target, own_);
      });
      if (!is_begun) return;
    }
  }

  bool is_fine() const {
    const std::lock_guard lock(mutex_);
    return !error_;
  }

  // Records the first error. False: `error` is one.
  bool check(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return true;
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = cuda_error(error, what);
    return false;
  }

  // Launches kernels, unless there was an error before.
  template <class Begin>
  bool begin(const char* what, const Begin& kernels) {
    if (!is_fine()) return false;
    (void)cudaGetLastError();  // discards an earlier caller's error
    kernels();
    return check(cudaGetLastError(), what);
  }
  bool copy(void* to, const void* from, size_t bytes, Stream stream) {
    if (bytes == 0) return is_fine();
    return is_fine() &&
           check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault,
                                 cuda_stream(stream)),
                 "a copy");
  }

  bool synchronize() { return check(cudaStreamSynchronize(own_), "its work"); }

  const int number_;
  CudaMemory memory_, pinned_;
  cudaStream_t own_ = nullptr;
  std::vector<cudaEvent_t> marks_;
  std::optional<Arena> staging_memory_;
  Staging staging_;
  mutable std::mutex mutex_;  // guards error_
  std::optional<Error> error_;
};
}  // namespace

Result<std::unique_ptr<Device>> open_cuda_device(int number) {
  auto device = std::make_unique<CudaDevice>(number);
  if (Status opened = device->open(); !opened) {
    return std::move(opened).error();
  }
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace penstock::exchange
