// What a context is asked for, and what it tells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exchange/plan/cost_model.h"

namespace penstock::exchange {

class Device;

// Format and place of a layer's residual: the part of its gradients that has
// not been sent.
enum class ResidualKind {
  kFloat32,   // 4 bytes per element
  kBfloat16,  // 2 bytes; random rounding: small gradients add up
  kHost       // 4 bytes, in host memory, to which a device's gradients are
              // copied
};

struct LayerOptions {
  std::string name;  // for error messages
  size_t elements = 0;
  double density = 0.01;  // share of elements selected: above 0, at most 1
  ResidualKind residual = ResidualKind::kFloat32;
  std::optional<Method> method;  // empty: the cost model's choice
};

struct ContextOptions {
  ExchangeCosts costs;  // rank 0's apply to all ranks
  // Layers of fewer elements that name no method are summed densely, in buckets
  // of several layers and at most this many elements. 0: no buckets.
  size_t bucket_elements = 262144;
  uint32_t exact_steps = 64;      // see Threshold
  double keep_factor = 1;         // kept sums, relative to density x elements
  double timeout_s = 600;         // for a layer's exchange
  bool has_thread = false;        // an internal thread exchanges
  bool passes_nonfinite = false;  // applies infinities and NaNs
  // Device that holds the gradients and their targets; messages are then in
  // pinned host memory. Null: all are in CPU memory. The device must outlive
  // the context, and serve no other one.
  Device* device = nullptr;
};

// One layer's counters since plan() or the last set_densities().
struct LayerStats {
  Method method = Method::kDense;
  bool is_in_bucket = false;
  uint64_t steps = 0;  // not reset by set_densities()
  float threshold = 0;
  uint64_t taken = 0;       // entries selected and sent by this rank
  uint64_t candidates = 0;  // entries at or above the threshold
  uint64_t applied = 0;     // entries, or elements, of sums applied
};

struct ContextStats {
  uint64_t planned_bytes = 0;       // arena, with a device's staging
  uint64_t used_bytes = 0;          // its high-water mark
  uint64_t planned_host_bytes = 0;  // host arena and pinned memory
  uint64_t used_host_bytes = 0;
  uint64_t sent_bytes = 0;  // by this rank, as computed by the method
  double wait_s = 0;        // time in wait(): the exchange stall
};

// A layer's checkpoint.
struct LayerState {
  std::vector<float> residual;  // empty if the layer has none
  float threshold = 0;          // 0: none yet
  uint32_t steps_left = 0;      // until an exact threshold
  uint64_t steps = 0;
};

}  // namespace penstock::exchange
