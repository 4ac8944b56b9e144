// Exchanges a model's gradients layer by layer (docs/exchange.md). A rank adds
// its layers in the order in which backward computes their gradients. plan()
// allocates all memory. Then each layer's gradient is submitted as it is
// computed, and an Update gets its sums over all ranks.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "common/result.h"
#include "exchange/context/failures.h"
#include "exchange/context/options.h"
#include "exchange/context/runner.h"
#include "exchange/context/update.h"
#include "exchange/context/watch.h"
#include "exchange/transport/transport.h"

namespace penstock::exchange {

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

  int rank() const { return transport_->rank(); }
  int size() const { return transport_->size(); }

  // Returns the layer's number, from 0. plan() reports invalid layers, on all
  // ranks. REQUIRES: not planned yet.
  int add_layer(LayerOptions layer);
  // Makes plan() fail on all ranks with `why`.
  void refuse(const std::string& why) { refusal_ = why; }

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
  bool keeps_gradient(int layer) const {
    return runner_->keeps_gradient(layer);
  }

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
  LayerStats layer_stats(int layer) const {
    return runner_->layer_stats(layer);
  }

  // REQUIRES: planned, a valid layer whose exchange is done; with a device, all
  // layers' exchanges are done.
  // Errors: kIo  the device's
  [[nodiscard]] Result<LayerState> layer_state(int layer) const {
    return runner_->state(layer);
  }
  // Errors: kInvalidArgument  the state of another layer
  //         kIo               the device's
  [[nodiscard]] Status set_layer_state(int layer, const LayerState& state) {
    return runner_->set_state(layer, state);
  }

 private:
  using Lock = std::unique_lock<std::mutex>;

  void claim(Lock& lock);
  Status check_layer(int layer) const;
  Status check_submit(int layer, std::span<float> gradient) const;
  void take(Lock& lock, int layer, std::span<float> gradient, Update& update,
            void* stream);
  bool is_ready(size_t group) const {
    return submitted_[group] == runner_->group(group).layers.size();
  }
  bool is_stuck() const {
    return !is_claimed_ && !runner_->is_busy() && !is_ready(next_);
  }
  bool drive(Lock& lock);
  Result<bool> step(bool begins);
  void finish_group();
  void fail(Lock& lock, Error error);
  Status watch();
  Status result_of(int layer) const;
  Status wait_locked(Lock& lock, int layer);
  Result<std::unique_ptr<Runner>> plan_with(std::span<const double> densities);
  Error not_submitted(int layer) const;
  void run_thread();

  // The transport and the runner belong to the thread that has set is_claimed_,
  // and are used without the lock. Runner::take() needs no claim, so a gradient
  // is taken while another layer is exchanged. mutex_ guards all other members.
  std::unique_ptr<Transport> transport_;
  ContextOptions options_;
  std::vector<LayerOptions> layers_;
  std::string refusal_;
  std::unique_ptr<Runner> runner_;
  std::optional<Failures> failures_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_claimed_ = false;
  bool is_stopped_ = false;
  std::optional<Error> error_;
  std::vector<bool> is_done_;      // by layer
  std::vector<size_t> submitted_;  // count of layers, by group
  size_t next_ = 0;                // group in exchange, or the next one
  double wait_s_ = 0;
  uint64_t sent_bytes_ = 0;
  std::thread thread_;

  Watch watch_;  // used by the claiming thread
};

}  // namespace penstock::exchange
