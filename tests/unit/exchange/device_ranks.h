// Ranks whose gradients and weights are in a GPU's memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exchange/cuda/cuda_device.h"
#include "exchange/device/device_update.h"
#include "tests/unit/exchange/context_ranks.h"
#include "tests/unit/exchange/on_device.h"

namespace penstock::exchange::test {

// All methods at once, each kind of residual, and small layers between them.
inline std::vector<LayerOptions> device_layers() {
  return {{.name = "a", .elements = 1500, .method = Method::kTwoPhase},
          {.name = "bias", .elements = 7},
          {.name = "b",
           .elements = 1000,
           .density = 0.1,
           .method = Method::kAllgather},
          {.name = "c", .elements = 500, .method = Method::kDense},
          {.name = "norm", .elements = 64},
          {.name = "d",
           .elements = 1200,
           .density = 0.02,
           .residual = ResidualKind::kHost,
           .method = Method::kTwoPhase},
          {.name = "e",
           .elements = 700,
           .density = 0.05,
           .residual = ResidualKind::kBfloat16,
           .method = Method::kTwoPhase}};
}

// A Model whose gradients are made on a stream, and whose gradient memory is
// reused right after submit().
class DeviceModel {
 public:
  DeviceModel(const std::vector<LayerOptions>& layers, unsigned seed,
              Device& device)
      : host_(layers, seed) {
    for (const LayerOptions& layer : layers) {
      const std::vector<float> zeros(layer.elements);
      gradients_.push_back(std::make_unique<OnDevice<float>>(zeros));
      weights_.push_back(std::make_unique<OnDevice<float>>(zeros));
      updates_.emplace_back(device, weights_.back()->data(), 1.0f);
    }
  }

  std::vector<std::vector<float>> weights() const {
    std::vector<std::vector<float>> all;
    for (const auto& layer : weights_) all.push_back(layer->values());
    return all;
  }

  std::string train(Context& context, int steps,
                    const MakeGradients& make = &Model::next_gradients) {
    for (int step = 0; step < steps; ++step) {
      make(host_);
      for (size_t i = 0; i < gradients_.size(); ++i) {
        if (std::string wrong = submit(context, i); !wrong.empty()) {
          return wrong;
        }
      }
      for (size_t i = 0; i < gradients_.size(); ++i) {
        const Status done = context.wait(int(i));
        if (!done) return done.error().message;
      }
      check_cuda(cudaStreamSynchronize(stream_.get()));
    }
    return "";
  }

  Model& host() { return host_; }
  const Model& host() const { return host_; }
  std::string submit(Context& context, size_t layer) {
    OnDevice<float>& gradient = *gradients_[layer];
    const size_t bytes = gradient.size() * sizeof(float);
    const cudaError_t copied =
        cudaMemcpyAsync(gradient.data(), host_.gradients[layer].data(), bytes,
                        cudaMemcpyDefault, stream_.get());
    if (copied != cudaSuccess) {  // as a trainer reports its failure
      context.fail(cudaGetErrorString(copied));
      return cudaGetErrorString(copied);
    }
    const Status submitted =
        context.submit(int(layer), {gradient.data(), gradient.size()},
                       updates_[layer], stream_.get());
    if (!submitted) return submitted.error().message;
    const cudaError_t overwritten =
        cudaMemsetAsync(gradient.data(), 0x7f, bytes, stream_.get());
    if (overwritten == cudaSuccess) return "";
    context.fail(cudaGetErrorString(overwritten));
    return cudaGetErrorString(overwritten);
  }

 private:
  Model host_;
  OwnStream stream_;
  std::vector<std::unique_ptr<OnDevice<float>>> gradients_, weights_;
  std::vector<AddScaledOnDevice> updates_;
};

inline ContextOptions quick_on(Device& device, bool has_thread = false) {
  ContextOptions options = quick(has_thread);
  options.device = &device;
  return options;
}

// Like on_ranks(), with a device for each rank.
inline std::vector<std::string> on_device_ranks(
    int ranks,
    const std::function<std::string(std::unique_ptr<Transport>, Device&)>&
        work) {
  return on_ranks(ranks, [&](auto transport) -> std::string {
    const auto device = open_cuda_device(0);
    if (!device) return device.error().message;
    try {
      return work(std::move(transport), **device);
    } catch (const std::exception& error) {  // of check_cuda()
      return error.what();
    }
  });
}

}  // namespace penstock::exchange::test
