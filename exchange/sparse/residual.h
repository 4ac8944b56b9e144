// A layer's residual on one rank: the part of its gradients that has not been
// sent. Gradients are added to it; large elements leave it for the exchange
// (error feedback).
//
// In float32 nothing is lost. In bfloat16 sums are rounded at random, without
// bias, so that small gradients add up on average. A device processes the
// residuals in its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/result.h"
#include "exchange/memory/arena.h"
#include "exchange/select/select_pass.h"
#include "exchange/sparse/sparse_message.h"

namespace penstock::exchange {

class Device;
struct DeviceResidual;

// Not thread-safe. The arena must outlive it.
class Residual {
 public:
  Residual() = default;  // no elements
  static Residual float32(size_t elements, Arena& arena);
  static Residual bfloat16(size_t elements, Arena& arena);
  // A residual whose arena is in the device's memory. The device must outlive
  // it.
  static Residual on(Device& device, Residual residual);

  size_t size() const { return wide_.size() + narrow_.size(); }
  bool is_rounded() const { return !narrow_.empty(); }

  // The step number, which with the element's index seeds random roundings.
  void set_step(uint64_t step) { step_ = step; }

  // Adds a gradient of all elements.
  void accumulate(std::span<const float> gradient);
  // On a device: adds a gradient in its memory; ordered after work already
  // queued on the stream.
  void accumulate(const float* gradient, void* stream);

  // accumulate_and_select() of `size` elements from `first` on. gradient: of
  // these elements, or empty; on a device it must be empty.
  SelectPass select(std::span<const float> gradient, size_t first, size_t size,
                    float threshold, SparseRoom room);

  // The device's first error, after which its calls do nothing. Without a
  // device there is none.
  Status status() const;

  // Adds entries that the exchange returned.
  void add(const SparseView& entries);

  // The k-th largest magnitude. REQUIRES: 1 <= k <= size()
  float kth_magnitude(size_t k) const;

  // Copies all elements, as floats.
  void read(std::span<float> values) const;
  void write(std::span<const float> values);

 private:
  DeviceResidual there() const;
  void add(size_t element, float value);
  SelectPass select_narrow(std::span<const float> gradient, size_t first,
                           size_t size, float threshold, SparseRoom room);
  void narrow(std::span<const float> values, size_t first);

  std::span<float> wide_;
  std::span<uint16_t> narrow_;
  uint64_t step_ = 0;
  Device* device_ = nullptr;
};

}  // namespace penstock::exchange
