// The exchange of a model's gradients, layer by layer (docs/exchange.md). A
// rank adds its layers in the order in which their gradients become ready, has
// all memory fixed by plan(), and submits each layer's gradient as it comes;
// the sums over all ranks go to an Update as soon as they are there.
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

// Where a layer keeps what it has not given away yet.
enum class ResidualKind {
  kFloat32,   // 4 bytes an element
  kBfloat16,  // 2 bytes; rounded at random, so that small ones add up
  kHost       // 4 bytes an element of the host arena; on a device that has
              // gradients, they are copied from there
};

struct LayerOptions {
  std::string name;  // for errors
  size_t elements = 0;
  double density = 0.01;  // of elements picked out: above 0, at most 1
  ResidualKind residual = ResidualKind::kFloat32;
  std::optional<Method> method;  // empty: by the cost model
};

struct ContextOptions {
  ExchangeCosts costs;  // rank 0's count
  // Layers of fewer elements are summed densely, together with the ones next to
  // them, in buckets of so many elements at most; 0: none are.
  size_t bucket_elements = 262144;
  uint32_t exact_steps = 64;  // Threshold's
  double keep_factor = 1;     // sums that owners keep, by density x elements
  double timeout_s = 600;     // for the exchange of a layer
  bool has_thread = false;    // a thread of its own exchanges
  bool passes_nonfinite = false;  // infinities and NaNs are summed as they are
  // Where gradients and what they are added to is, if the CPU does not reach
  // it; messages are in pinned memory of the host then. Must outlive the
  // context; of no other one.
  Device* device = nullptr;
};

// What is done with a layer's sums over all ranks, after each submit(). Called
// by the thread that finds the exchange done: one in submit(), poll() or
// wait(), or the context's own. Must not call the context. Where there is a
// device, what is begun there with the parts is waited for before done().
class Update {
 public:
  virtual ~Update() = default;
  // Part by part, in the same order on all ranks: what has to be added in all
  // is the sum; an element may be in several parts.
  virtual void add_sparse(const SparseView& part) = 0;
  virtual void add_dense(std::span<const float> sums) = 0;  // once
  virtual void done() {}  // after the last part, or the dense sums

 protected:
  Update() = default;
  Update(const Update&) = default;
  Update& operator=(const Update&) = default;
};

// target[i] += factor x sum[i]. The target may be a gradient that is kept
// (keeps_gradient()); it is factor x sum then.
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

// Of one layer since plan(), or set_densities().
struct LayerStats {
  Method method = Method::kDense;
  bool is_in_bucket = false;
  uint64_t steps = 0;  // since plan() in any case
  float threshold = 0;
  uint64_t taken = 0;       // entries that this rank picked out and sent
  uint64_t candidates = 0;  // that reached the threshold
  uint64_t applied = 0;     // entries, or elements, of sums
};

struct ContextStats {
  uint64_t planned_bytes = 0;       // of the arena: plan()'s
  uint64_t used_bytes = 0;          // its high-water mark
  uint64_t planned_host_bytes = 0;  // of the host arena, and of pinned memory
  uint64_t used_host_bytes = 0;
  uint64_t sent_bytes = 0;  // by this rank, as the method counts them
  double wait_s = 0;        // in wait(): the exchange stall
};

// For one thread; its own thread, where it has one, is its own affair. All
// ranks call the same functions in the same order, but submit(), which may come
// in any order.
//
// After an error of submit(), poll() or wait() that is not a layer's own, all
// ranks have one, and the context can do nothing more.
class Context {
 public:
  Context(std::unique_ptr<Transport> transport, const ContextOptions& options);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  int rank() const;
  int size() const;

  // A number for the layer, from 0. What is wrong with it plan() says, on all
  // ranks. REQUIRES: not planned yet.
  int add_layer(LayerOptions layer);
  // Has plan() fail on all ranks, with why this one cannot go on.
  void refuse(const std::string& why);

  // Agrees with the other ranks and allocates everything.
  // Errors: kInvalidArgument  a layer that cannot be, or ranks that do not
  //                           agree: the same text on all ranks
  //         kLimit            no memory for it
  //         kUnavailable      a rank does not answer in timeout_s
  [[nodiscard]] Status plan();

  // Takes the layer's gradient. The update must stay until the layer's
  // exchange is done; the gradient only where keeps_gradient() says so.
  // stream: Device's, where there is one: the gradient is read behind what was
  // begun on it, and may be freed there.
  // Errors: kInvalidArgument  not planned, no such layer, another length, or
  //                           the layer's last exchange is not done
  //         and poll()'s
  [[nodiscard]] Status submit(int layer, std::span<float> gradient,
                              Update& update, void* stream = nullptr);
  // Whether submit() needs the gradient until the exchange is done: that of a
  // layer outside of buckets that is summed densely; it is overwritten then.
  // None on a device.
  // REQUIRES: planned, a layer.
  bool keeps_gradient(int layer) const;

  // Goes on as far as it can without waiting; whether the layer's exchange is
  // done (as before its first submit()). Without a thread of its own it waits
  // for a device that has not come to a gradient, as submit() and wait() do:
  // for as long as that takes.
  //
  // Errors: kInvalidArgument  some rank's gradient of this layer was infinite
  //                           or no number: on all ranks; its sums were not
  //                           applied, and what was sent of it is lost
  //                           Also: ranks have lost each other
  //         kUnavailable      the layer's exchange was not done in timeout_s,
  //                           not counting what passed while nobody looked for
  //                           over a second; or a rank has failed
  //         kLimit            too large a message for the transport
  //         kIo               the transport's, or the device's
  [[nodiscard]] Result<bool> poll(int layer);
  // Until the layer's exchange is done. Errors: poll()'s. Of a bucket, all its
  // layers have to be submitted.
  [[nodiscard]] Status wait(int layer);

  // From the next step on each layer has this density, as when a training
  // begins with more than it goes on with. Waits for all layers, agrees with
  // the other ranks and allocates everything anew, beside what is there until
  // then: residuals stay. REQUIRES: planned; of a bucket, all layers have been
  // submitted, or none.
  // Errors: kInvalidArgument  not between two steps, a density that cannot be,
  //                           ranks that do not agree, or a layer with a
  //                           residual that would be summed densely, where it
  //                           would be lost: the same text on all ranks, and
  //                           densities stay as they were
  //         and poll()'s
  [[nodiscard]] Status set_densities(std::span<const double> densities);

  // Tells the other ranks why this one cannot go on: their calls fail with it,
  // and this one's. REQUIRES: planned.
  void fail(const std::string& why);

  ContextStats stats() const;
  // REQUIRES: planned, a layer, its exchange is done.
  LayerStats layer_stats(int layer) const;

  // What training resumes from: the layer's residual, empty where it has none,
  // and its threshold. REQUIRES: planned, a layer, its exchange is done; with a
  // device, all layers' are.
  struct LayerState {
    std::vector<float> residual;
    float threshold = 0;      // 0: none yet
    uint32_t steps_left = 0;  // with that threshold
    uint64_t steps = 0;
  };
  // Errors: kIo  a device's
  [[nodiscard]] Result<LayerState> layer_state(int layer) const;
  // Errors: kInvalidArgument  the state of another layer
  //         kIo               a device's
  [[nodiscard]] Status set_layer_state(int layer, const LayerState& state);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::exchange
