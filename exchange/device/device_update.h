// AddScaled for a target in device memory.
#pragma once

#include "exchange/context/update.h"
#include "exchange/device/device.h"

namespace penstock::exchange {

class AddScaledOnDevice : public Update {
 public:
  // The device must outlive it.
  AddScaledOnDevice(Device& device, float* target, float factor)
      : device_(&device), target_(target), factor_(factor) {}
  void add_sparse(const SparseView& part) override {
    device_->add_scaled(part, factor_, target_);
  }
  void add_dense(std::span<const float> sums) override {
    device_->add_scaled(sums, factor_, target_);
  }

 private:
  Device* device_;
  float* target_;
  float factor_;
};

}  // namespace penstock::exchange
