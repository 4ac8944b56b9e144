// What an exchange does in memory that only a GPU reaches: gradients, weights
// and residuals are there, messages are not. exchange/cuda has CUDA's.
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

// Two threads may use it at once: one what is behind a stream, another one all
// else, of other layers. Pointers are to the device's memory; spans are of the
// host's, pinned where nothing else is said. What goes wrong status() says.
class Device {
 public:
  // On which its caller's work goes on, as the kernels that make a gradient do:
  // a cudaStream_t.
  using Stream = void*;

  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual MemorySource& memory() = 0;  // its own
  virtual MemorySource& pinned() = 0;  // of the host, which it copies from

  // At the beginning of a thread that uses no other device. Without, each call
  // goes back to another one, which may take memory of that.
  virtual void enter_thread() = 0;

  // For so many layers, and for messages of so many entries, anew; for none
  // gives its memory back. Errors: kLimit, kIo. REQUIRES: nothing is under way.
  [[nodiscard]] virtual Status reserve(size_t layers, size_t entries) = 0;
  virtual size_t reserved_bytes() const = 0;  // of its memory, by reserve()

  // Behind what has been begun on the stream. These wait for nothing.
  virtual void accumulate(const float* gradient, const DeviceResidual& sums,
                          Stream stream) = 0;
  virtual void copy_out(const float* gradient, std::span<float> values,
                        Stream stream) = 0;
  virtual void mark(int layer, Stream stream) = 0;

  // Until all before the layer's last mark is done.
  virtual void wait_for_mark(int layer) = 0;

  // As Residual's. They wait until it is done; select() takes what is in no
  // order.
  virtual SelectPass select(const DeviceResidual& residual, size_t first,
                            size_t size, float threshold, SparseRoom room) = 0;
  virtual float kth_magnitude(const DeviceResidual& residual, size_t k) = 0;
  virtual void add(const SparseView& entries,
                   const DeviceResidual& residual) = 0;
  virtual void read(const DeviceResidual& residual,  // need not be pinned
                    std::span<float> values) = 0;
  virtual void write(std::span<const float> values,  // nor this
                     const DeviceResidual& residual) = 0;

  // target[i] += factor x value; of spans that stay until finish().
  virtual void add_scaled(const SparseView& entries, float factor,
                          float* target) = 0;
  virtual void add_scaled(std::span<const float> values, float factor,
                          float* target) = 0;
  virtual void clear(float* target, size_t elements) = 0;
  virtual void finish() = 0;  // waits for these

  // The first error, kIo; nothing is done after it.
  [[nodiscard]] virtual Status status() const = 0;

 protected:
  Device() = default;
};

}  // namespace penstock::exchange
