// Ceiling and demand of a job: at arrival from its profile, later from its
// progress page and its CPU time. Pure: no I/O, no clock. Derivation:
// docs/model.md, section "Prediction and correction".
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "common/result.h"
#include "predictor/profile.h"

namespace penstock {

// A number with its expected interval: low <= value <= high. An unknown figure
// is {0, 0, infinity}; a known zero is {0, 0, 0}.
struct Figure {
  double value = 0;
  double low = 0;
  double high = std::numeric_limits<double>::infinity();

  bool known() const { return std::isfinite(high); }
};

// All rates are per rank (task).
struct Prediction {
  Figure ceiling_samples_per_s;
  Figure loader_cpu_s_per_sample;
  Figure storage_bytes_per_sample;  // after the cache
  Figure demand_cores;              // loader cores that the ceiling needs
  Figure demand_bytes_per_s;
  double trainer_reserve_cores = 0;
  Figure trainer_cpu_s_per_sample;  // of all but the loader
  std::string basis;  // "profile NAME", "measured 12 s", "unknown"
};

// Prediction from a profile. Its relative_error is the half width of every
// interval, except for predictions from a model or a CPU class.
// Errors: kInvalidArgument  a field is out of the range in profile.h, or the
//                           GPU type of a described job is missing or unknown
//         kNotFound         unknown CPU class
// Thread-safe.
[[nodiscard]] Result<Prediction> predict(const Profile& profile);

// Activity of one rank between two samplings. Counters are differences.
struct Observation {
  // Period of samples, wait_s and contention_s, from the page: between its
  // updates (updated_ns) last seen by the two samplings, so that it covers
  // whole steps; 0 without an update.
  double seconds = 0;
  double samples = 0;       // consumed by the trainer
  double wait_s = 0;        // the trainer waited for data
  double contention_s = 0;  // of the rest: waited for a CPU used by its loader
  // Between the two samplings themselves.
  double sampled_s = 0;      // wall time; 0: the same as seconds
  double prepared = 0;       // samples finished by the loader; 0: unknown
  double bytes = 0;          // storage bytes, counted by the kernel
  double cached_bytes = 0;   // bytes from the loader's own cache
  double loader_cpu_s = 0;   // CPU time of loader threads, home and away
  double trainer_cpu_s = 0;  // CPU time of everything else in the task
  bool replaying = false;    // one prepared batch was replayed: only the
                             // ceiling can be learnt
  bool sharing = false;      // other ranks prepare batches for this one:
                             // `samples` is no measure of its loader's work
  double ended_s = 0;        // on a clock common to all ranks of the share
};

// Measured costs of preparing one sample; unknown if not measurable.
struct MeasuredCosts {
  Figure loader_cpu_s;
  Figure storage_bytes;  // after the cache
};

// Collects observations of one rank and corrects a prediction with them. Also
// works for a starved job: the trainer's own time per sample excludes waits.
// Assumes that a waiting trainer does nothing else: a loop that waits for data
// while its GPU still works must synchronise first.
//
// Not thread-safe. add() allocates nothing. corrected() uses the last kWindow
// observations.
class Corrector {
 public:
  // Ignores a contradictory observation: a field negative, not finite or over
  // 1e18; wait_s > seconds x 1.01; more than 1e9 samples/s; more CPU time than
  // kMaxCores allow. Also ignores all observations up to the second one with
  // samples: they cover the job's start and its first, slower steps.
  void add(const Observation& observation);

  // Time of whole steps in the window.
  double observed_s() const;

  // False while more than a tenth (6) of the last 64 observations are
  // contradictory: the job's page is unreliable.
  bool trusted() const;

  // Whether the window has an observation with `sharing`.
  bool saw_sharing() const;

  // prior: nullopt if the job named no profile. Uses measured figures where the
  // window has enough data, and prior's elsewhere. Before kMinObservedSeconds
  // or kMinSamples returns prior unchanged; without prior, unknown figures with
  // basis "unknown".
  Prediction corrected(const std::optional<Prediction>& prior) const;

  // The same, with costs measured on other ranks too.
  Prediction corrected(const std::optional<Prediction>& prior,
                       const MeasuredCosts& costs) const;

  // Costs from one rank, or from all ranks that prepare the same samples. Among
  // the latter it is chance which rank finishes a sample, so one rank's ratio
  // of cost to samples has no meaning.
  static MeasuredCosts costs_of(std::span<const Corrector* const> ranks);

  static constexpr double kMinObservedSeconds = 2.0;
  static constexpr double kMinSamples = 16.0;
  static constexpr double kMaxCores = 4096.0;

 private:
  static constexpr int kWindow = 64;  // observations kept
  static constexpr int kWarmUp = 2;   // ignored observations with samples
  // A cache's share jumps at an epoch's start: use the last few observations.
  static constexpr int kCacheWindow = 8;

  using Ranks = std::span<const Corrector* const>;

  Figure trainer_s_per_sample() const;
  bool used_loader_cpu() const;
  static Figure cost_per_sample(Ranks ranks, double Observation::*counter);
  static Figure storage_bytes_per_sample(Ranks ranks);
  static double cached_share(Ranks ranks);
  double trainer_cores() const;
  Figure trainer_cpu_s_per_sample() const;

  Observation window_[kWindow];
  int next_ = 0;
  int count_ = 0;
  int warm_up_left_ = kWarmUp;
  uint64_t contradictions_ = 0;  // bit i: the i-th last observation
};

}  // namespace penstock
