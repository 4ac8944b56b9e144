// An Update as Python describes it: where a layer's sums go, and what is called
// once when they are there.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "exchange/context/context.h"
#include "exchange/device/device.h"

namespace penstock::exchange {

class PythonUpdate : public Update {
 public:
  enum class Kind {
    kAdd,     // target[i] += factor x sum[i]
    kReplace  // target[i] = factor x sum[i]
  };
  using Then = std::optional<pybind11::function>;

  // device: which the target is on; none: the CPU.
  PythonUpdate(Kind kind, const Then& then, std::shared_ptr<Device> device)
      : kind_(kind), then_(then), device_(std::move(device)) {}

  // For the next exchange: `count` floats from the address on.
  // REQUIRES: none is under way.
  void set(uintptr_t address, size_t count, float factor);

  void add_sparse(const SparseView& part) override;
  void add_dense(std::span<const float> sums) override;
  void done() override;

  // Throws what `then` did in the last exchange.
  void rethrow();

 private:
  void clear();

  const Kind kind_;
  Then then_;
  const std::shared_ptr<Device> device_;
  std::span<float> target_;
  bool is_cleared_ = true;  // for sums that replace
  float factor_ = 1;
  std::exception_ptr failure_;
};

}  // namespace penstock::exchange
