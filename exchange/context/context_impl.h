// Implementation of Context.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "exchange/context/context.h"
#include "exchange/context/failures.h"
#include "exchange/context/runner.h"
#include "exchange/context/watch.h"

namespace penstock::exchange {

// The transport and the runner belong to the thread that has set is_claimed_,
// and are used without the lock. Runner::take() needs no claim, so a gradient
// is taken while another layer is exchanged. mutex_ guards all other members.
class Context::Impl {
 public:
  Impl(std::unique_ptr<Transport> transport, const ContextOptions& options)
      : transport_(std::move(transport)),
        options_(options),
        watch_(options.timeout_s, std::chrono::steady_clock::now()) {}
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const Transport& transport() const { return *transport_; }
  int add_layer(LayerOptions layer);
  void refuse(const std::string& why) { refusal_ = why; }
  Status plan();
  Status submit(int layer, std::span<float> gradient, Update& update,
                void* stream);
  Result<bool> poll(int layer);
  Status wait(int layer);
  Status set_densities(std::span<const double> densities);
  void give_up(const std::string& why);
  ContextStats stats() const;
  const Runner& runner() const { return *runner_; }
  Runner& runner() { return *runner_; }

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
