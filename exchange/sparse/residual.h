// What a rank has not given away yet of a layer: gradients are added to it, and
// what is large leaves it for the exchange (error feedback). In 32 bits, where
// nothing is lost, or in bfloat16, where sums are rounded at random, so that
// what is small adds up in the long run (an average without bias). In the
// memory of a device, it is the device that does it.
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

// For one thread. The arenas must outlive it.
class Residual {
 public:
  Residual() = default;  // of no elements
  static Residual float32(size_t elements, Arena& arena);
  static Residual bfloat16(size_t elements, Arena& arena);
  // One whose arena is of the device's memory.
  static Residual on(Device& device, Residual residual);

  size_t size() const { return wide_.size() + narrow_.size(); }
  bool is_rounded() const { return !narrow_.empty(); }

  // What the next roundings depend on, beside the place: the step's number.
  void set_step(uint64_t step) { step_ = step; }

  // Adds a gradient of all elements.
  void accumulate(std::span<const float> gradient);
  // On a device: one of its memory, behind what was begun on the stream.
  void accumulate(const float* gradient, void* stream);

  // accumulate_and_select() of the elements from `first` on; `gradient` is
  // theirs, or empty, as it is on a device.
  SelectPass select(std::span<const float> gradient, size_t first, size_t size,
                    float threshold, SparseRoom room);

  // Whether all of it was done: of a device's memory it may not have been.
  Status status() const;

  // What an exchange gives back.
  void add(const SparseView& entries);

  // The k-th largest magnitude. REQUIRES: 1 <= k <= size()
  float kth_magnitude(size_t k) const;

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
