// Memory and state of a planned exchange, and its execution: one group of
// layers at a time, by one thread at a time. Context decides when.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "exchange/context/engine.h"
#include "exchange/context/options.h"
#include "exchange/context/schedule.h"
#include "exchange/context/update.h"
#include "exchange/device/device.h"
#include "exchange/memory/arena.h"
#include "exchange/select/threshold.h"
#include "exchange/sparse/residual.h"

namespace penstock::exchange {

// Not thread-safe, except that take() may run beside calls that are about other
// groups.
class Runner {
 public:
  // Errors: kLimit  no memory
  //         kIo     the device's
  [[nodiscard]] static Result<std::unique_ptr<Runner>> make(
      Transport& transport, const ContextOptions& options,
      std::vector<LayerOptions> layers);

  size_t groups() const { return groups_.size(); }
  const Group& group(size_t group) const { return groups_[group]; }
  size_t group_of(int layer) const { return layer_of(layer).group; }
  bool keeps_gradient(int layer) const;
  size_t elements(int layer) const { return layer_of(layer).options.elements; }
  const std::string& name(int layer) const {
    return layer_of(layer).options.name;
  }

  // Takes a layer's gradient for a later begin(). See Context::submit().
  void take(int layer, std::span<float> gradient, Update& update, void* stream);
  // take() and begin() of a sparse group in one pass.
  // REQUIRES: not busy; no device.
  [[nodiscard]] Status take_and_begin(int layer, std::span<float> gradient,
                                      Update& update);
  // Begins a group's exchange. REQUIRES: not busy; take() was called for all
  // its layers.
  [[nodiscard]] Status begin(size_t group);

  bool is_busy() const { return engine_->is_busy(); }
  // Advances without waiting for messages. True: the group begun last is done,
  // and its sums are applied.
  // Errors: SparseExchange::advance()'s, and the device's
  [[nodiscard]] Result<bool> advance();
  std::string missing() const { return engine_->missing(); }

  // Whether the layer's last sums were finite; if not, they were not applied.
  bool was_finite(int layer) const { return layer_of(layer).was_finite; }
  LayerStats layer_stats(int layer) const;
  void add_memory(ContextStats& stats) const;
  // Bytes that this rank sent in the last group's exchange.
  uint64_t sent_bytes() const { return engine_->sent_bytes(); }

  [[nodiscard]] Result<LayerState> state(int layer) const;
  [[nodiscard]] Status set_state(int layer, const LayerState& state);
  // Takes over residuals and step counts from a runner of the same layers.
  // Errors: kInvalidArgument  a layer with a residual would have none here
  //         kIo               the device's
  [[nodiscard]] Status go_on_from(const Runner& before);

  // Keeps the memory of messages: the transport may still use it.
  void abandon();

 private:
  struct Layer {
    LayerOptions options;
    size_t group = 0;
    size_t first = 0;  // offset in its bucket, in elements
    Residual residual;
    std::optional<Threshold> threshold;
    Update* update = nullptr;
    std::span<float> gradient;  // set for dense layers outside buckets
    bool was_finite = true;
    LayerStats stats;
  };
  struct Memory {
    Arena device, host;
    Arena pinned;  // messages, if there is a device
  };

  Runner(const ContextOptions& options, std::vector<LayerOptions> layers);
  void build(Transport& transport, Memory memory);
  void build_layer(Layer& layer, const Group& group);
  Status reserve_on_device();
  Layer& layer_of(int layer) { return layers_[size_t(layer)]; }
  const Layer& layer_of(int layer) const { return layers_[size_t(layer)]; }
  Arena& messages() {
    return options_.device != nullptr ? memory_->pinned : memory_->device;
  }
  // Whether its layers' gradients are copied from the device to the host.
  bool is_staged(const Group& group) const;
  std::span<float> staged(const Layer& layer) const {
    return buckets_[layer.group].subspan(layer.first, layer.options.elements);
  }
  void wait_for(const Group& group);
  Status begin_sparse(Layer& layer, std::span<const float> gradient);
  Status device_status(const Layer& layer) const;
  void apply(const Group& group);
  void apply_sparse(Layer& layer);
  void apply_dense(Layer& layer, std::span<const float> sums);
  void end_update(Layer& layer);

  ContextOptions options_;
  std::vector<Layer> layers_;
  std::vector<Group> groups_;
  std::optional<Memory> memory_;
  // Gradients by group, for buckets and staged groups; otherwise empty.
  std::vector<std::span<float>> buckets_;
  std::optional<Engine> engine_;
  size_t busy_group_ = 0;
};

}  // namespace penstock::exchange
