// Exchanges a model's gradients layer by layer (docs/exchange.md). A rank adds
// its layers in the order in which backward computes their gradients. plan()
// allocates all memory. Then each layer's gradient is submitted as it is
// computed, and an Update gets its sums over all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/result.h"
#include "exchange/plan/cost_model.h"
#include "exchange/sparse/sparse_message.h"
#include "exchange/transport/transport.h"

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

// Applies a layer's sums over all ranks, after each submit(). Called by the
// thread that finds the exchange done: one in submit(), poll() or wait(), or
// the context's own. Must not call the context.
//
// Not called for sums that are not finite, unless passes_nonfinite. With a
// device, work queued on it for the parts is finished before done() is called.
class Update {
 public:
  virtual ~Update() = default;
  // Called for each part, in the same order on all ranks. The sum is the total
  // of all parts; an element may be in several.
  virtual void add_sparse(const SparseView& part) = 0;
  virtual void add_dense(std::span<const float> sums) = 0;  // called once
  virtual void done() {}  // after the last part, or the dense sums

 protected:
  Update() = default;
  Update(const Update&) = default;
  Update& operator=(const Update&) = default;
};

// target[i] += factor x sum[i]. If the target is the gradient that the context
// keeps (keeps_gradient()), it becomes factor x sum.
class AddScaled : public Update {
 public:
  AddScaled() = default;
  AddScaled(std::span<float> target, float factor)
      : target_(target), factor_(factor) {}
  void add_sparse(const SparseView& part) override;
  void add_dense(std::span<const float> sums) override;

 private:
  std::span<float> target_;
  float factor_ = 1;
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

// Single-threaded use; the context's thread, if any, is internal. All ranks
// call the same functions in the same order, except submit(), which may come in
// any order.
//
// An error of submit(), poll() or wait() makes all ranks fail, and the context
// unusable. Exceptions: a non-finite gradient, a call before plan(), and an
// unknown layer in poll() or wait().
class Context {
 public:
  Context(std::unique_ptr<Transport> transport, const ContextOptions& options);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  int rank() const;
  int size() const;

  // Returns the layer's number, from 0. plan() reports invalid layers, on all
  // ranks. REQUIRES: not planned yet.
  int add_layer(LayerOptions layer);
  // Makes plan() fail on all ranks with `why`.
  void refuse(const std::string& why);

  // Agrees with the other ranks, then allocates all memory. Collective.
  // Errors: kInvalidArgument  invalid layers or options, or ranks that differ:
  //                           the same text on all ranks. Also: already planned
  //         kLimit            no memory
  //         kUnavailable      a rank does not answer within timeout_s
  //         kIo               the transport's, or the device's
  [[nodiscard]] Status plan();

  // Takes the layer's gradient. The update must stay valid until the layer's
  // exchange is done, the gradient only if keeps_gradient() says so.
  //
  // stream: the device's, if there is one. The gradient is read after work
  // already queued on it, and may be freed in its order.
  // Errors: kInvalidArgument  not planned, no such layer, wrong length, or the
  //                           layer's last exchange is not done
  //         and poll()'s
  [[nodiscard]] Status submit(int layer, std::span<float> gradient,
                              Update& update, void* stream = nullptr);
  // Whether the gradient must stay valid until the exchange is done, and is
  // overwritten by the sums: true of dense layers outside of buckets. Always
  // false on a device.
  // REQUIRES: planned, a valid layer.
  bool keeps_gradient(int layer) const;

  // Advances as far as possible without waiting for other ranks. Returns
  // whether the layer's exchange is done (true before its first submit()).
  //
  // Without an internal thread, poll(), submit() and wait() wait, without a
  // time limit, until the device has computed a gradient.
  //
  // Errors: kInvalidArgument  a rank's gradient of this layer was infinite or
  //                           NaN: on all ranks; its sums were not applied, and
  //                           the entries sent are lost
  //                           Also: ranks are at different layers or steps
  //         kUnavailable      the layer's exchange took longer than timeout_s,
  //                           counted anew after a gap of over 1 s between
  //                           checks; or a rank has failed
  //         kLimit            a message too large for the transport
  //         kIo               the transport's, or the device's
  [[nodiscard]] Result<bool> poll(int layer);
  // Waits until the layer's exchange is done. All layers before it, and of its
  // bucket, must have been submitted.
  // Errors: kInvalidArgument  such a layer was not submitted
  //         and poll()'s
  [[nodiscard]] Status wait(int layer);

  // Sets each layer's density from the next step on, as after a warm-up. Waits
  // for all layers, agrees with the other ranks, and allocates all memory anew
  // while the old is still held. Residuals are kept; thresholds are found anew.
  //
  // REQUIRES: planned; of each bucket, all layers are submitted, or none.
  // Errors: kInvalidArgument  called within a step, an invalid density, ranks
  //                           that differ, or a layer whose residual would be
  //                           lost because it would become dense: the same text
  //                           on all ranks; densities stay as they were
  //         and plan()'s and poll()'s
  [[nodiscard]] Status set_densities(std::span<const double> densities);

  // Makes the calls of all ranks, this one's included, fail with `why`.
  // REQUIRES: planned.
  void fail(const std::string& why);

  ContextStats stats() const;
  // REQUIRES: planned, a valid layer, its exchange is done.
  LayerStats layer_stats(int layer) const;

  // A layer's checkpoint: its residual, empty if it has none, its threshold and
  // its steps. REQUIRES: planned, a valid layer whose exchange is done; with a
  // device, all layers' exchanges are done.
  struct LayerState {
    std::vector<float> residual;
    float threshold = 0;      // 0: none yet
    uint32_t steps_left = 0;  // until an exact threshold
    uint64_t steps = 0;
  };
  // Errors: kIo  the device's
  [[nodiscard]] Result<LayerState> layer_state(int layer) const;
  // Errors: kInvalidArgument  the state of another layer
  //         kIo               the device's
  [[nodiscard]] Status set_layer_state(int layer, const LayerState& state);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::exchange
