// Ceiling and demand of a job: at arrival from its profile, then from what
// its page and its CPU time show. Pure: no I/O, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/result.h"
#include "predictor/profile.h"

namespace penstock {

// A figure with the interval in which it is expected to lie.
struct Figure {
  double value = 0;
  double low = 0;
  double high = 0;
};

// All rates are per rank (task).
struct Prediction {
  Figure ceiling_samples_per_s;
  Figure loader_cpu_s_per_sample;
  Figure storage_bytes_per_sample;   // after the cache
  Figure demand_cores;               // loader cores that the ceiling needs
  Figure demand_bytes_per_s;
  double trainer_reserve_cores = 0;
  std::string basis;  // "profile NAME", "measured 12 s", "unknown"
};

[[nodiscard]] Result<Prediction> predict(const Profile& profile);

// What was seen of one rank over an interval. Counters are differences.
struct Observation {
  double seconds = 0;         // wall time covered
  double samples = 0;         // consumed by the trainer
  double prepared = 0;        // finished by the loader
  double wait_s = 0;          // trainer waited for data
  double bytes = 0;           // storage bytes, as the kernel counted them
  double loader_cpu_s = 0;    // CPU time of loader threads, home and away
  double trainer_cpu_s = 0;   // CPU time of everything else in the task
};

// Collects observations of one rank and corrects a prediction with them.
// Works for a starved job too: the trainer's own time per sample is the time
// in which it does not wait (docs/model.md, section "Correction").
class Corrector {
 public:
  // Ignores an observation that contradicts itself (wait_s > seconds x 1.01,
  // a negative or NaN field).
  void add(const Observation& observation);

  double observed_s() const;

  // prior: nullopt where the job named no profile. Before
  // kMinObservedSeconds of run or kMinSteps samples it is returned as it is
  // (or "unknown" figures of 0 without one).
  Prediction corrected(const std::optional<Prediction>& prior) const;

  static constexpr double kMinObservedSeconds = 2.0;
  static constexpr double kMinSamples = 16.0;

 private:
  static constexpr int kWindow = 64;  // observations kept
  Observation window_[kWindow];
  int next_ = 0;
  int count_ = 0;
};

}  // namespace penstock
