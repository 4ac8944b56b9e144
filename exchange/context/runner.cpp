#include "exchange/context/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "exchange/dense/are_finite.h"

namespace penstock::exchange {
namespace {

size_t wanted_of(const LayerOptions& layer) {
  return static_cast<size_t>(
      std::max(std::ceil(layer.density * double(layer.elements)), 1.0));
}

}  // namespace

Runner::Runner(const ContextOptions& options, std::vector<LayerOptions> layers)
    : options_(options) {
  for (LayerOptions& one : layers) {
    layers_.push_back({.options = std::move(one)});
  }
}

Result<std::unique_ptr<Runner>> Runner::make(Transport& transport,
                                             const ContextOptions& options,
                                             std::vector<LayerOptions> layers) {
  // Built twice: the first build only measures the memory.
  std::unique_ptr<Runner> plan(new Runner(options, layers));
  plan->build(transport, {});
  Device* const there = options.device;
  Result<Arena> device =
      Arena::of(plan->memory_->device.used(),
                there != nullptr ? &there->memory() : nullptr);
  if (!device) return std::move(device).error();
  Result<Arena> host = Arena::of(plan->memory_->host.used());
  if (!host) return std::move(host).error();
  Result<Arena> pinned =
      Arena::of(plan->memory_->pinned.used(),
                there != nullptr ? &there->pinned() : nullptr);
  if (!pinned) return std::move(pinned).error();
  std::unique_ptr<Runner> runner(new Runner(options, std::move(layers)));
  runner->build(transport,
                {std::move(*device), std::move(*host), std::move(*pinned)});
  if (Status reserved = runner->reserve_on_device(); !reserved) {
    return std::move(reserved).error();
  }
  return runner;
}

Status Runner::reserve_on_device() {
  if (options_.device == nullptr) return Done{};
  return options_.device->reserve(layers_.size(), engine_->most_entries());
}

void Runner::build(Transport& transport, Memory memory) {
  memory_.emplace(std::move(memory));
  std::vector<LayerOptions> options;
  for (const Layer& layer : layers_) options.push_back(layer.options);
  groups_ = schedule(options, transport.size(), options_.costs,
                     options_.bucket_elements);
  for (size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    buckets_.push_back(group.is_bucket || is_staged(group)
                           ? messages().take<float>(group.elements)
                           : std::span<float>());
    size_t first = 0;
    for (const int number : group.layers) {
      Layer& layer = layer_of(number);
      layer.group = i;
      layer.first = std::exchange(first, first + layer.options.elements);
      build_layer(layer, group);
    }
  }
  engine_.emplace(transport, messages(), groups_, options,
                  options_.keep_factor);
}

void Runner::build_layer(Layer& layer, const Group& group) {
  layer.stats.method = group.method;
  layer.stats.is_in_bucket = group.is_bucket;
  if (group.method == Method::kDense) return;
  layer.threshold.emplace(wanted_of(layer.options), options_.exact_steps);
  if (layer.options.residual == ResidualKind::kHost) {
    layer.residual = Residual::float32(group.elements, memory_->host);
    return;
  }
  layer.residual = layer.options.residual == ResidualKind::kBfloat16
                       ? Residual::bfloat16(group.elements, memory_->device)
                       : Residual::float32(group.elements, memory_->device);
  if (options_.device != nullptr) {
    layer.residual = Residual::on(*options_.device, layer.residual);
  }
}

bool Runner::is_staged(const Group& group) const {
  const LayerOptions& first = layer_of(group.layers[0]).options;
  return options_.device != nullptr && (group.method == Method::kDense ||
                                        first.residual == ResidualKind::kHost);
}

bool Runner::keeps_gradient(int layer) const {
  const Group& group = groups_[group_of(layer)];
  return group.method == Method::kDense && !group.is_bucket &&
         !is_staged(group);
}

void Runner::take(int number, std::span<float> gradient, Update& update,
                  void* stream) {
  Layer& layer = layer_of(number);
  layer.update = &update;
  const Group& group = groups_[layer.group];
  if (options_.device != nullptr) {
    if (is_staged(group)) {
      options_.device->copy_out(gradient.data(), staged(layer), stream);
    } else {
      layer.residual.set_step(layer.stats.steps);
      layer.residual.accumulate(gradient.data(), stream);
    }
    options_.device->mark(number, stream);
  } else if (group.is_bucket) {
    std::ranges::copy(gradient, staged(layer).begin());
  } else if (group.method == Method::kDense) {
    layer.gradient = gradient;
  } else {
    layer.residual.set_step(layer.stats.steps);
    layer.residual.accumulate(gradient);
  }
}

Status Runner::take_and_begin(int number, std::span<float> gradient,
                              Update& update) {
  Layer& layer = layer_of(number);
  layer.update = &update;
  layer.residual.set_step(layer.stats.steps);
  return begin_sparse(layer, gradient);
}

Status Runner::begin(size_t number) {
  const Group& group = groups_[number];
  Layer& layer = layer_of(group.layers[0]);
  wait_for(group);
  if (Status status = device_status(layer); !status) return status;
  // A staged gradient has not been added to the residual yet.
  if (group.method != Method::kDense) {
    return begin_sparse(layer, buckets_[number]);
  }
  busy_group_ = number;
  return engine_->begin_dense(buckets_[number].empty() ? layer.gradient
                                                       : buckets_[number]);
}

void Runner::wait_for(const Group& group) {
  if (options_.device == nullptr) return;
  for (const int layer : group.layers) options_.device->wait_for_mark(layer);
}

Status Runner::device_status(const Layer& layer) const {
  if (options_.device == nullptr) return Done{};
  Status status = options_.device->status();
  if (status) return status;
  return std::move(status).error().wrap("layer " + layer.options.name);
}

Status Runner::begin_sparse(Layer& layer, std::span<const float> gradient) {
  busy_group_ = layer.group;
  // Round before the selection: sums must not depend on whether it was the
  // layer's turn when its gradient was submitted.
  const bool is_exact = layer.threshold->wants_exact();
  if (!gradient.empty() && (is_exact || layer.residual.is_rounded())) {
    layer.residual.accumulate(gradient);
    gradient = {};
  }
  if (is_exact) {
    layer.threshold->set_exact(
        layer.residual.kth_magnitude(wanted_of(layer.options)));
  }
  layer.stats.threshold = layer.threshold->value();
  const auto found = engine_->begin_sparse(
      layer.group, static_cast<uint32_t>(layer.stats.steps),
      layer.threshold->value(), gradient, layer.residual);
  if (!found) return Error(found.error());
  layer.threshold->correct(found->candidates);
  layer.stats.taken += found->taken;
  layer.stats.candidates += found->candidates;
  return Done{};
}

Result<bool> Runner::advance() {
  Result<bool> done = engine_->advance();
  if (!done || !*done) return done;
  const Group& group = groups_[busy_group_];
  apply(group);
  Status status = device_status(layer_of(group.layers[0]));
  if (!status) {
    return std::move(status).error();
  }
  return true;
}

void Runner::apply(const Group& group) {
  for (const int number : group.layers) {
    Layer& layer = layer_of(number);
    ++layer.stats.steps;
    if (group.method != Method::kDense) {
      apply_sparse(layer);
    } else {
      apply_dense(layer, buckets_[layer.group].empty() ? layer.gradient
                                                       : staged(layer));
    }
  }
}

void Runner::apply_sparse(Layer& layer) {
  const SparseExchange& sums = engine_->sparse();
  layer.was_finite = options_.passes_nonfinite || sums.is_finite();
  if (!layer.was_finite) return;
  for (int rank = 0; rank < sums.parts(); ++rank) {
    const SparseView part = sums.part(rank);
    layer.stats.applied += part.indices.size();
    layer.update->add_sparse(part);
  }
  end_update(layer);
}

void Runner::apply_dense(Layer& layer, std::span<const float> sums) {
  layer.was_finite = options_.passes_nonfinite || engine_->is_dense_finite() ||
                     are_finite(sums);
  if (!layer.was_finite) return;
  layer.stats.applied += sums.size();
  layer.update->add_dense(sums);
  end_update(layer);
}

void Runner::end_update(Layer& layer) {
  if (options_.device != nullptr) options_.device->finish();
  if (device_status(layer)) layer.update->done();
}

LayerStats Runner::layer_stats(int layer) const {
  return layer_of(layer).stats;
}

void Runner::add_memory(ContextStats& stats) const {
  const size_t reserved =
      options_.device != nullptr ? options_.device->reserved_bytes() : 0;
  stats.planned_bytes = memory_->device.capacity() + reserved;
  stats.used_bytes = memory_->device.used() + reserved;
  stats.planned_host_bytes =
      memory_->host.capacity() + memory_->pinned.capacity();
  stats.used_host_bytes = memory_->host.used() + memory_->pinned.used();
}

Result<LayerState> Runner::state(int number) const {
  const Layer& layer = layer_of(number);
  LayerState state;
  state.steps = layer.stats.steps;
  state.residual.resize(layer.residual.size());
  layer.residual.read(state.residual);
  if (layer.threshold) {
    state.threshold = layer.threshold->value();
    state.steps_left = layer.threshold->steps_left();
  }
  Status read = device_status(layer);
  if (!read) return std::move(read).error();
  return state;
}

Status Runner::set_state(int number, const LayerState& state) {
  Layer& layer = layer_of(number);
  if (state.residual.size() != layer.residual.size()) {
    return invalid(fmt::format(
        "layer {} keeps {} elements of a residual, its state has {}: it was "
        "saved with another density, method or number of ranks",
        layer.options.name, layer.residual.size(), state.residual.size()));
  }
  layer.stats.steps = state.steps;
  layer.residual.write(state.residual);
  if (layer.threshold)
    layer.threshold->restore(state.threshold, state.steps_left);
  return device_status(layer);
}

Status Runner::go_on_from(const Runner& before) {
  for (int number = 0; number < int(layers_.size()); ++number) {
    Layer& layer = layer_of(number);
    const Layer& was = before.layer_of(number);
    layer.stats.steps = was.stats.steps;
    layer.was_finite = was.was_finite;
    if (was.residual.size() == 0) continue;
    if (layer.residual.size() == 0) {
      return invalid(fmt::format(
          "layer {}: with a density of {} it would be summed densely, and what "
          "it has not given away yet would be lost; name a sparse method",
          layer.options.name, layer.options.density));
    }
    const auto state = before.state(number);
    if (!state) return state.error();
    layer.residual.write(state->residual);
    if (Status written = device_status(layer); !written) return written;
  }
  return Done{};
}

void Runner::abandon() { messages().abandon(); }

}  // namespace penstock::exchange
