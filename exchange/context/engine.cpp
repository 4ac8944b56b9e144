#include "exchange/context/engine.h"

#include <utility>

namespace penstock::exchange {

Engine::Engine(Transport& transport, Arena& arena,
               const std::vector<Group>& groups,
               const std::vector<LayerOptions>& layers, double keep_factor)
    : transport_(transport) {
  std::vector<SparseShape> in_two_phases, to_everybody;
  size_t largest_dense = 0;
  for (const Group& group : groups) {
    const double density = layers[size_t(group.layers[0])].density;
    SparseShape shape{.elements = group.elements};
    if (group.method == Method::kTwoPhase) {
      shape = two_phase_shape(group.elements, density, keep_factor,
                              transport.size());
      in_two_phases.push_back(shape);
    } else if (group.method == Method::kAllgather) {
      shape = to_everybody_shape(group.elements, density);
      to_everybody.push_back(shape);
    } else {
      largest_dense = std::max(largest_dense, group.elements);
    }
    shapes_.push_back(shape);
    most_entries_ =
        std::max({most_entries_, shape.send_entries, shape.keep_entries});
  }
  if (!in_two_phases.empty()) {
    two_phase_.emplace(transport, arena, in_two_phases);
  }
  if (!to_everybody.empty()) {
    to_everybody_.emplace(transport, arena, to_everybody);
  }
  if (largest_dense > 0 && transport.size() > 1) {
    dense_sum_.emplace(transport, arena, largest_dense);
  }
  for (const Group& group : groups) {
    SparseExchange* exchange = nullptr;
    if (group.method == Method::kTwoPhase) exchange = &*two_phase_;
    if (group.method == Method::kAllgather) exchange = &*to_everybody_;
    exchanges_.push_back(exchange);
  }
}

Result<SelectPass> Engine::begin_sparse(size_t group, uint32_t step,
                                        float threshold,
                                        std::span<const float> gradient,
                                        Residual& residual) {
  sparse_ = exchanges_[group];
  is_busy_ = true;
  return sparse_->begin({.shape = shapes_[group],
                         .layer = static_cast<uint32_t>(group),
                         .step = step,
                         .threshold = threshold,
                         .gradient = gradient,
                         .residual = &residual});
}

Status Engine::begin_dense(std::span<float> values) {
  sparse_ = nullptr;
  dense_ = values;
  is_busy_ = true;
  if (transport_.size() == 1) return Done{};
  return dense_sum_->begin(values);
}

Result<bool> Engine::advance() {
  Result<bool> done = true;
  if (sparse_ != nullptr) {
    done = sparse_->advance();
  } else if (transport_.size() > 1) {
    done = dense_sum_->advance();
  }
  if (done && *done) is_busy_ = false;
  return done;
}

// For a dense sum, as if all parts had the same size.
size_t Engine::sent_bytes() const {
  if (sparse_ != nullptr) return sparse_->sent_bytes();
  const auto ranks = size_t(transport_.size());
  return 2 * (ranks - 1) * dense_.size_bytes() / ranks;
}

}  // namespace penstock::exchange
