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
  // Built twice: once to measure.
  std::unique_ptr<Runner> plan(new Runner(options, layers));
  plan->build(transport, {});
  Result<Arena> device = Arena::of(plan->memory_->device.used());
  if (!device) return std::move(device).error();
  Result<Arena> host = Arena::of(plan->memory_->host.used());
  if (!host) return std::move(host).error();
  std::unique_ptr<Runner> runner(new Runner(options, std::move(layers)));
  runner->build(transport, {std::move(*device), std::move(*host)});
  return runner;
}

void Runner::build(Transport& transport, Memory memory) {
  memory_.emplace(std::move(memory));
  std::vector<LayerOptions> options;
  for (const Layer& layer : layers_) options.push_back(layer.options);
  groups_ = schedule(options, transport.size(), options_.costs,
                     options_.bucket_elements);
  for (size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    buckets_.push_back(group.is_bucket
                           ? memory_->device.take<float>(group.elements)
                           : std::span<float>());
    size_t first = 0;
    for (const int number : group.layers) {
      Layer& layer = layer_of(number);
      layer.group = i;
      layer.first = std::exchange(first, first + layer.options.elements);
      layer.stats.method = group.method;
      layer.stats.is_in_bucket = group.is_bucket;
      if (group.method == Method::kDense) continue;
      layer.threshold.emplace(wanted_of(layer.options), options_.exact_steps);
      layer.residual = layer.options.residual == ResidualKind::kBfloat16
                           ? Residual::bfloat16(group.elements, memory_->device)
                       : layer.options.residual == ResidualKind::kHost
                           ? Residual::float32(group.elements, memory_->host)
                           : Residual::float32(group.elements, memory_->device);
    }
  }
  engine_.emplace(transport, memory_->device, groups_, options,
                  options_.keep_factor);
}

bool Runner::keeps_gradient(int layer) const {
  const Group& group = groups_[group_of(layer)];
  return group.method == Method::kDense && !group.is_bucket;
}

void Runner::take(int number, std::span<float> gradient, Update& update) {
  Layer& layer = layer_of(number);
  layer.update = &update;
  const Group& group = groups_[layer.group];
  if (group.is_bucket) {
    std::copy(gradient.begin(), gradient.end(),
              buckets_[layer.group].begin() + std::ptrdiff_t(layer.first));
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
  if (group.method != Method::kDense) return begin_sparse(layer, {});
  busy_group_ = number;
  return engine_->begin_dense(group.is_bucket ? buckets_[number]
                                              : layer.gradient);
}

Status Runner::begin_sparse(Layer& layer, std::span<const float> gradient) {
  busy_group_ = layer.group;
  // What is rounded is so before anything is picked out: sums must not depend
  // on whether it was the layer's turn when its gradient came.
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
  if (done && *done) apply(groups_[busy_group_]);
  return done;
}

void Runner::apply(const Group& group) {
  for (const int number : group.layers) {
    Layer& layer = layer_of(number);
    ++layer.stats.steps;
    if (group.method != Method::kDense) {
      apply_sparse(layer);
    } else if (group.is_bucket) {
      apply_dense(layer, buckets_[layer.group].subspan(layer.first,
                                                       layer.options.elements));
    } else {
      apply_dense(layer, layer.gradient);
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
  layer.update->done();
}

void Runner::apply_dense(Layer& layer, std::span<const float> sums) {
  layer.was_finite = options_.passes_nonfinite || engine_->is_dense_finite() ||
                     are_finite(sums);
  if (!layer.was_finite) return;
  layer.stats.applied += sums.size();
  layer.update->add_dense(sums);
  layer.update->done();
}

LayerStats Runner::layer_stats(int layer) const {
  return layer_of(layer).stats;
}

void Runner::add_memory(ContextStats& stats) const {
  stats.planned_bytes = memory_->device.capacity();
  stats.used_bytes = memory_->device.used();
  stats.planned_host_bytes = memory_->host.capacity();
  stats.used_host_bytes = memory_->host.used();
}

Context::LayerState Runner::state(int number) const {
  const Layer& layer = layer_of(number);
  Context::LayerState state;
  state.steps = layer.stats.steps;
  state.residual.resize(layer.residual.size());
  layer.residual.read(state.residual);
  if (layer.threshold) {
    state.threshold = layer.threshold->value();
    state.steps_left = layer.threshold->steps_left();
  }
  return state;
}

Status Runner::set_state(int number, const Context::LayerState& state) {
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
  return Done{};
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
    layer.residual.write(before.state(number).residual);
  }
  return Done{};
}

void Runner::abandon() {
  memory_->device.abandon();
  memory_->host.abandon();
}

}  // namespace penstock::exchange
