// An exchange's operations on a GPU's memory, which holds gradients, weights
// and residuals. Messages are in host memory. exchange/cuda implements it for
// CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/result.h"
#include "exchange/device/device_residual.h"
#include "exchange/memory/arena.h"
#include "exchange/select/select_pass.h"
#include "exchange/sparse/sparse_message.h"

namespace penstock::exchange {

// Two threads may use it at once, for different layers: one calls the functions
// that take a stream, the other all else. Pointers are to device memory; spans
// are in host memory, pinned unless stated otherwise. status() reports errors.
class Device {
 public:
  // The stream on which the caller's work is queued, such as the kernels that
  // compute a gradient: a cudaStream_t.
  using Stream = void*;

  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual MemorySource& memory() = 0;  // device memory
  virtual MemorySource& pinned() = 0;  // pinned host memory, for copies

  // Makes the device current in a thread that uses no other device. Otherwise
  // each call restores another current device, which may allocate memory there.
  virtual void enter_thread() = 0;

  // Replaces the reservation: marks for `layers` layers, and device memory for
  // messages of `entries` entries. 0 entries: frees that memory.
  // Errors: kLimit, kIo. REQUIRES: no work is pending.
  [[nodiscard]] virtual Status reserve(size_t layers, size_t entries) = 0;
  virtual size_t reserved_bytes() const = 0;  // device memory, by reserve()

  // Ordered after work already queued on the stream. These do not wait.
  virtual void accumulate(const float* gradient, const DeviceResidual& sums,
                          Stream stream) = 0;
  virtual void copy_out(const float* gradient, std::span<float> values,
                        Stream stream) = 0;
  virtual void mark(int layer, Stream stream) = 0;

  // Waits until all work before the layer's last mark is done.
  virtual void wait_for_mark(int layer) = 0;

  // As in Residual; these wait until the work is done. select() takes entries
  // in no particular order: if the room is too small, any of the candidates.
  virtual SelectPass select(const DeviceResidual& residual, size_t first,
                            size_t size, float threshold, SparseRoom room) = 0;
  virtual float kth_magnitude(const DeviceResidual& residual, size_t k) = 0;
  virtual void add(const SparseView& entries,
                   const DeviceResidual& residual) = 0;
  virtual void read(const DeviceResidual& residual,  // need not be pinned
                    std::span<float> values) = 0;
  virtual void write(std::span<const float> values,  // need not be pinned
                     const DeviceResidual& residual) = 0;

  // target[i] += factor x value[i]. Do not wait: the spans must stay valid
  // until finish().
  virtual void add_scaled(const SparseView& entries, float factor,
                          float* target) = 0;
  virtual void add_scaled(std::span<const float> values, float factor,
                          float* target) = 0;
  virtual void clear(float* target, size_t elements) = 0;
  virtual void finish() = 0;  // waits for add_scaled() and clear()

  // The first error, kIo. No work is queued after it.
  [[nodiscard]] virtual Status status() const = 0;

 protected:
  Device() = default;
};

}  // namespace penstock::exchange
