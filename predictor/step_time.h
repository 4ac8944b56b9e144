// How long a training step takes whose gradients are exchanged layer by layer
// while the backward pass still computes others. docs/model.md, section
// "Exchange of gradients". Pure; thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "exchange/plan/cost_model.h"

namespace penstock {

// A layer, or a bucket of them, whose gradient is exchanged as a whole.
struct StepLayer {
  size_t elements = 0;
  double backward_s = 0;
};

// What one rank computes. Layers are in the order of the backward pass.
struct ComputeStep {
  double forward_s = 0;
  std::vector<StepLayer> layers;
  double update_s = 0;  // after the last exchange
};

// A step that computes for compute_s, of which the backward pass is two thirds.
// Where no more is known than how many parameters there are, buckets of 25 MiB
// stand for the layers, as PyTorch's DistributedDataParallel has them (larger
// ones where it would be over 1024); each takes its share of the backward pass.
// REQUIRES: parameters >= 1.
ComputeStep step_of_buckets(double compute_s, size_t parameters);

struct ExchangeWay {
  int ranks = 1;
  double density = 1;  // over 0, at most 1
  exchange::ExchangeCosts costs;
  // How many ranks have one link to the others' nodes between them. A ring
  // passes it once, so that only what is sparse has to share its bandwidth.
  int ranks_per_link = 1;
  // nullopt: of each layer the one that takes least, dense at density 1.
  std::optional<exchange::Method> method;
};

struct LayerTimes {
  exchange::Method method = exchange::Method::kDense;
  double select_s = 0;    // on the rank's own time
  double exchange_s = 0;  // without select_s
  double ready_s = 0;     // since the step's begin: computed and selected
  double done_s = 0;      // exchanged; one layer after the other, and selected
                          // then where it had to wait
};

struct StepTimes {
  std::vector<LayerTimes> layers;
  double busy_s = 0;      // computing and selecting
  double exchange_s = 0;  // of all layers, hidden or not
  double step_s = 0;      // at least the larger of the two

  double stall_s() const { return step_s - busy_s; }
};

StepTimes step_times(const ComputeStep& step, const ExchangeWay& way);

}  // namespace penstock
