// Ceiling and demand of a job: at arrival from its profile, then from what
// its page and its CPU time show. Pure: no I/O, no clock. docs/model.md,
// section "Prediction and correction", derives the formulas.
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

// A figure with the interval in which it is expected to lie: low <= value <=
// high. A figure that nothing tells is {0, 0, infinity}; {0, 0, 0} is a zero.
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
  std::string basis;  // "profile NAME", "measured 12 s", "unknown"
};

// What a profile says. Its relative_error is every interval's half width, but
// for what is predicted from a model and a CPU class.
// Errors: kInvalidArgument  a field is outside the range that profile.h gives,
//                           or the GPU type of a described job is not known
//         kNotFound         there is no such CPU class
// Thread-safe.
[[nodiscard]] Result<Prediction> predict(const Profile& profile);

// What was seen of one rank between two samplings. Counters are differences.
struct Observation {
  // From the page: time between its last update before this sampling and the
  // one before the last sampling (updated_ns), so that it covers whole steps;
  // 0 where no update came. Samples and wait_s belong to it.
  double seconds = 0;
  double samples = 0;       // consumed by the trainer
  double wait_s = 0;        // trainer waited for data
  double contention_s = 0;  // of the rest, for a CPU that its loader used
  // Between the two samplings themselves.
  double sampled_s = 0;      // wall time; 0: the same as seconds
  double prepared = 0;       // finished by the loader; 0: the job cannot tell
  double bytes = 0;          // storage bytes, as the kernel counted them
  double cached_bytes = 0;   // that a cache of the loader's served instead
  double loader_cpu_s = 0;   // CPU time of loader threads, home and away
  double trainer_cpu_s = 0;  // CPU time of everything else in the task
  bool replaying = false;    // one prepared batch was replayed: only the
                             // ceiling can be learnt from it
  bool sharing = false;      // others prepare for it too: what it consumed
                             // tells no cost
  double ended_s = 0;        // on a clock that all who share have alike
};

// What preparing a sample takes, as measured; unknown where nothing tells it.
struct MeasuredCosts {
  Figure loader_cpu_s;
  Figure storage_bytes;  // after the cache
};

// Collects observations of one rank and corrects a prediction with them.
// Works for a starved job too: the trainer's own time per sample is the time
// in which it does not wait. Assumes that a waiting trainer does nothing else:
// a loop that waits for data while its GPU still works must synchronise first.
// Not thread-safe. No allocation in add(); corrected() looks at the last
// kWindow observations.
class Corrector {
 public:
  // Leaves out an observation that contradicts itself: a field negative, not
  // finite or over 1e18, wait_s > seconds x 1.01, more than 1e9 samples/s,
  // more CPU time than kMaxCores give. Leaves out all up to and including the
  // second one with samples: they cover the job's start and its first, slower
  // steps.
  void add(const Observation& observation);

  // Time of whole steps behind corrected(), at most the window's.
  double observed_s() const;

  // False while more than a tenth of the last 64 observations contradicted
  // themselves: the job's page is not to be believed.
  bool trusted() const;

  // True while corrected() looks at an observation with `sharing`.
  bool saw_sharing() const;

  // prior: nullopt where the job named no profile. Each figure is measured
  // where the window tells it and prior's elsewhere. Before
  // kMinObservedSeconds or kMinSamples, prior is returned as it is (or unknown
  // figures with basis "unknown" without one).
  Prediction corrected(const std::optional<Prediction>& prior) const;

  // The same with costs that are not this rank's own.
  Prediction corrected(const std::optional<Prediction>& prior,
                       const MeasuredCosts& costs) const;

  // Of ranks that prepare the same samples, or of one: which of them finishes a
  // sample is chance, and tells nothing of what it takes.
  static MeasuredCosts costs_of(std::span<const Corrector* const> ranks);

  static constexpr double kMinObservedSeconds = 2.0;
  static constexpr double kMinSamples = 16.0;
  static constexpr double kMaxCores = 4096.0;

 private:
  static constexpr int kWindow = 64;  // observations kept
  static constexpr int kWarmUp = 2;   // observations with samples left out
  // A cache's share jumps where an epoch begins: the last few tell it.
  static constexpr int kCacheWindow = 8;

  using Ranks = std::span<const Corrector* const>;

  Figure trainer_s_per_sample() const;
  bool used_loader_cpu() const;
  static Figure cost_per_sample(Ranks ranks, double Observation::*counter);
  static Figure storage_bytes_per_sample(Ranks ranks);
  static double cached_share(Ranks ranks);
  double trainer_cores() const;

  Observation window_[kWindow];
  int next_ = 0;
  int count_ = 0;
  int warm_up_left_ = kWarmUp;
  uint64_t contradictions_ = 0;  // a bit per observation, the last one lowest
};

}  // namespace penstock
