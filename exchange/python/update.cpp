#include "exchange/python/update.h"

#include <algorithm>
#include <utility>

#include "exchange/device/device_update.h"

namespace penstock::exchange {

namespace py = pybind11;

void PythonUpdate::set(uintptr_t address, size_t count, float factor) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a tensor's data_ptr()
  target_ = {reinterpret_cast<float*>(address), count};
  factor_ = factor;
  is_cleared_ = kind_ == Kind::kAdd;
}

// Clears at the first part, not in set(): until then, other layers' sums may be
// in the same memory.
void PythonUpdate::clear() {
  if (std::exchange(is_cleared_, true)) return;
  if (device_) {
    device_->clear(target_.data(), target_.size());
  } else {
    std::ranges::fill(target_, 0.0F);
  }
}

void PythonUpdate::add_sparse(const SparseView& part) {
  clear();
  if (device_) {
    AddScaledOnDevice(*device_, target_.data(), factor_).add_sparse(part);
  } else {
    AddScaled(target_, factor_).add_sparse(part);
  }
}

// A target that already holds the sums, a kept gradient, must not be cleared.
void PythonUpdate::add_dense(std::span<const float> sums) {
  if (sums.data() != target_.data()) clear();
  if (device_) {
    AddScaledOnDevice(*device_, target_.data(), factor_).add_dense(sums);
  } else {
    AddScaled(target_, factor_).add_dense(sums);
  }
}

void PythonUpdate::rethrow() {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

// Called in the thread that finds the exchange done. An exception is kept for
// rethrow() in the trainer's thread.
void PythonUpdate::done() {
  if (!then_) return;
  const py::gil_scoped_acquire here;
  // Released after the call, with all that it refers to, such as a gradient.
  const Then then = std::exchange(then_, std::nullopt);
  try {
    (*then)();
  } catch (const py::error_already_set&) {
    failure_ = std::current_exception();
  }
}

}  // namespace penstock::exchange
