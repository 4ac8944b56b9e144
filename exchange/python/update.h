// Update for Python: applies a layer's sums to a target, then calls a function,
// once.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "exchange/context/update.h"
#include "exchange/device/device.h"

namespace penstock::exchange {

class PythonUpdate : public Update {
 public:
  enum class Kind {
    kAdd,     // target[i] += factor x sum[i]
    kReplace  // target[i] = factor x sum[i]
  };
  using Then = std::optional<pybind11::function>;

  // device: holds the target; null: CPU memory.
  PythonUpdate(Kind kind, const Then& then, std::shared_ptr<Device> device)
      : kind_(kind), then_(then), device_(std::move(device)) {}

  // Sets the target of the next exchange: `count` floats at `address`.
  // REQUIRES: no exchange uses this update.
  void set(uintptr_t address, size_t count, float factor);

  void add_sparse(const SparseView& part) override;
  void add_dense(std::span<const float> sums) override;
  void done() override;

  // Rethrows an exception that `then` threw; once.
  void rethrow();

 private:
  void clear();

  const Kind kind_;
  Then then_;
  const std::shared_ptr<Device> device_;
  std::span<float> target_;
  bool is_cleared_ = true;  // for kReplace
  float factor_ = 1;
  std::exception_ptr failure_;
};

}  // namespace penstock::exchange
