// Time of a training step that exchanges gradients layer by layer, in parallel
// with the rest of the backward pass. docs/model.md, section "Exchange of
// gradients". Pure; thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "exchange/plan/cost_model.h"

namespace penstock {

// A layer, or a bucket of layers, whose gradient is exchanged as a whole.
struct StepLayer {
  size_t elements = 0;
  double backward_s = 0;
};

// One rank's computation in a step.
struct ComputeStep {
  double forward_s = 0;
  std::vector<StepLayer> layers;  // in the order of the backward pass
  double update_s = 0;            // after the last exchange
};

// A step that computes for compute_s; the backward pass takes two thirds of it.
// Without knowledge of the layers, buckets of 25 MiB replace them, as in
// PyTorch's DistributedDataParallel, or at most 1024 larger ones. Each bucket
// takes its share of the backward pass. REQUIRES: parameters >= 1.
ComputeStep step_of_buckets(double compute_s, size_t parameters);

struct ExchangeWay {
  int ranks = 1;
  double density = 1;  // over 0, at most 1
  exchange::ExchangeCosts costs;
  // Number of ranks that share one link to other nodes. A ring uses the link
  // once, so only sparse exchanges share its bandwidth.
  int ranks_per_link = 1;
  // nullopt: the fastest method of each layer; dense at density 1.
  std::optional<exchange::Method> method;
};

// Times since the step's start, unless noted.
struct LayerTimes {
  exchange::Method method = exchange::Method::kDense;
  double select_s = 0;    // duration of the selection, on the rank's own time
  double exchange_s = 0;  // duration without select_s
  double ready_s = 0;     // computed and selected
  double done_s = 0;      // exchanged, one layer at a time; a layer that had
                          // to wait is selected only then, in a second pass
};

struct StepTimes {
  std::vector<LayerTimes> layers;
  double busy_s = 0;      // computing and selecting
  double exchange_s = 0;  // sum over all layers, hidden or not
  double step_s = 0;      // at least busy_s and exchange_s

  double stall_s() const { return step_s - busy_s; }
};

StepTimes step_times(const ComputeStep& step, const ExchangeWay& way);

}  // namespace penstock
