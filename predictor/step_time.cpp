#include "predictor/step_time.h"

#include <algorithm>

namespace penstock {
namespace {

using exchange::exchange_s;
using exchange::ExchangeCosts;
using exchange::ExchangeSize;
using exchange::Method;

constexpr size_t kBucketElements = size_t{25} * 1024 * 1024 / sizeof(float);
constexpr size_t kMostBuckets = 1024;
// The backward pass costs twice as much as the forward pass.
constexpr double kForwardShare = 1.0 / 3;

struct LayerCost {
  Method method = Method::kDense;
  double select_s = 0;
  double exchange_s = 0;

  double total_s() const { return select_s + exchange_s; }
};

LayerCost cost_of(Method method, const ExchangeSize& size,
                  const ExchangeWay& way) {
  ExchangeCosts costs = way.costs;
  if (method != Method::kDense) costs.byte_s *= way.ranks_per_link;
  const double all_s = exchange_s(method, size, costs);
  costs.select_s = 0;
  const double without_s = exchange_s(method, size, costs);
  return {method, all_s - without_s, without_s};
}

LayerCost cost_of(size_t elements, const ExchangeWay& way) {
  const ExchangeSize size{elements, way.ranks, way.density};
  if (way.method) return cost_of(*way.method, size, way);
  LayerCost best = cost_of(Method::kDense, size, way);
  if (way.density == 1) return best;
  for (const Method method : {Method::kAllgather, Method::kTwoPhase}) {
    const LayerCost other = cost_of(method, size, way);
    if (other.total_s() < best.total_s()) best = other;
  }
  return best;
}

}  // namespace

ComputeStep step_of_buckets(double compute_s, size_t parameters) {
  ComputeStep out;
  out.forward_s = compute_s * kForwardShare;
  const double backward_s = compute_s - out.forward_s;
  const size_t bucket =
      std::max(kBucketElements, (parameters - 1) / kMostBuckets + 1);
  for (size_t left = parameters; left > 0;) {
    const size_t elements = std::min(left, bucket);
    const double share = double(elements) / double(parameters);
    out.layers.push_back({elements, backward_s * share});
    left -= elements;
  }
  return out;
}

StepTimes step_times(const ComputeStep& step, const ExchangeWay& way) {
  StepTimes out;
  double ready_s = step.forward_s;
  double done_s = 0;
  for (const StepLayer& layer : step.layers) {
    const LayerCost cost = cost_of(layer.elements, way);
    ready_s += layer.backward_s + cost.select_s;
    // A context exchanges one layer at a time. A gradient that is ready earlier
    // is only added to its residual, a pass as long as the selection; the
    // selection itself follows at the layer's turn
    // (docs/decisions/prediction.md, 91).
    if (ready_s < done_s) done_s += cost.select_s;
    done_s = std::max(ready_s, done_s) + cost.exchange_s;
    out.exchange_s += cost.exchange_s;
    out.layers.push_back(
        {cost.method, cost.select_s, cost.exchange_s, ready_s, done_s});
  }
  out.busy_s = ready_s + step.update_s;
  out.step_s = std::max(ready_s, done_s) + step.update_s;
  return out;
}

}  // namespace penstock
