#include "loader/train/trainer.h"

#include "common/clock.h"
#include "loader/pipeline/sample_counters.h"
#include "loader/train/accelerator.h"

namespace penstock {
namespace {

// Interval at which a waiting trainer reports, and checks whether to end.
constexpr uint64_t kWaitSliceNs = 100000000;

}  // namespace

penstock_progress progress_report(const TrainOptions& options,
                                  const TrainProgress& progress,
                                  const LoaderCounters& loader) {
  penstock_progress reported{};
  add_counters(loader, reported);
  reported.samples = progress.samples;
  reported.steps = progress.steps;
  reported.wait_ns = progress.wait_ns();
  reported.exchange_ns = progress.exchange_ns;
  reported.delay_ns = progress.delay_ns;
  reported.replaying = options.replay ? 1 : 0;
  reported.follows_hint = options.threads == 0 ? 1 : 0;
  return reported;
}

bool Trainer::over() const {
  if (stop_) return true;
  if (options_.duration_s > 0) {
    const auto duration_ns = static_cast<uint64_t>(options_.duration_s * 1e9);
    return monotonic_ns() - begin_ns_ >= duration_ns;
  }
  return false;  // the loader's stream ends at --samples and --epochs
}

void Trainer::report() const {
  const penstock_progress progress =
      progress_report(options_, progress_, loader_.counters());
  penstock_report(handle_, &progress);
}

Result<std::optional<Batch>> Trainer::wait_for_batch() {
  progress_.begin_wait();
  auto batch = loader_.next(kWaitSliceNs);
  while (batch && !*batch && !loader_.finished() && !over()) {
    report();
    batch = loader_.next(kWaitSliceNs);
  }
  progress_.end_wait();
  run_delay_->lap_ns();  // part of the wait
  return batch;
}

void Trainer::finish_step(uint64_t begin_ns, size_t samples) {
  progress_.step_ns += monotonic_ns() - begin_ns;
  progress_.delay_ns += run_delay_->lap_ns();
  progress_.samples += samples;
  ++progress_.steps;
  report();
}

// Counts as part of the step, not as a wait for data.
bool Trainer::exchange() {
  if (meeting_ == nullptr) return true;
  progress_.delay_ns += run_delay_->lap_ns();
  const uint64_t begin_ns = monotonic_ns();
  const bool all_came = meeting_->wait(stop_);
  progress_.exchange_ns += monotonic_ns() - begin_ns;
  run_delay_->lap_ns();  // part of the exchange
  return all_came;
}

// Releases the batch when the step starts, like a trainer that first copies it
// to a GPU.
Status Trainer::train() {
  EmulatedAccelerator accelerator(options_.accelerator_s_per_sample,
                                  options_.wait, options_.trainer_cpu_ms);
  while (!over()) {
    auto batch = wait_for_batch();
    if (!batch) return std::move(batch).error();
    if (!*batch) return Done{};
    const size_t samples = (*batch)->size;
    loader_.release(**batch);
    const uint64_t begin_ns = monotonic_ns();
    accelerator.step(begin_ns, samples, stop_);
    if (stop_) return Done{};  // the step was cut short
    if (!exchange()) return Done{};
    finish_step(begin_ns, samples);
  }
  return Done{};
}

// The run's time starts after the preparation of its only batch.
Status Trainer::replay() {
  EmulatedAccelerator accelerator(options_.accelerator_s_per_sample,
                                  options_.wait, options_.trainer_cpu_ms);
  auto batch = wait_for_batch();
  if (!batch) return std::move(batch).error();
  if (!*batch) return Done{};
  begin_wait_ns_ = progress_.wait_ns();
  begin_ns_ = monotonic_ns();
  while (!over() &&
         (options_.samples == 0 || progress_.samples < options_.samples)) {
    const uint64_t begin_ns = monotonic_ns();
    accelerator.step(begin_ns, (*batch)->size, stop_);
    if (stop_) return Done{};
    finish_step(begin_ns, (*batch)->size);
  }
  return Done{};
}

Status Trainer::run() {
  run_delay_.emplace();
  begin_ns_ = monotonic_ns();
  report();
  Status done = options_.replay ? replay() : train();
  end_ns_ = monotonic_ns();
  report();
  return done;
}

}  // namespace penstock
