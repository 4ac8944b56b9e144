// A rank's rate with other amounts of what feeds it: cores, cache, storage
// bandwidth, a faster accelerator, more ranks on the node, a sparser exchange
// of gradients. docs/model.md, section "What-if", derives it. Pure;
// thread-safe.
#pragma once

#include <optional>
#include <string>

#include "common/result.h"
#include "predictor/exchange_ceiling.h"
#include "predictor/predictor.h"
#include "predictor/profile.h"
#include "predictor/rate_curve.h"

namespace penstock {

// Data is no longer the bottleneck where the rate reaches this share of the
// ceiling. 1 would never be reached behind a smooth corner, and what is closer
// to it than the 0.03 of `penstock analyze` cannot be told apart.
inline constexpr double kDataKeepsUp = 0.97;

// Whose the cores of an amount are.
enum class CoresOf {
  kTask,    // loader and trainer share them, as under srun --cpus-per-task
  kLoader,  // the loader's alone, as Penstock grants them
};

// What each rank has. nullopt: not known, and taken to limit nothing.
struct Amounts {
  std::optional<double> cores;                  // > 0
  std::optional<double> bandwidth_bytes_per_s;  // of storage, > 0
  double cached_share = 0;                      // 0..1
  double accelerator_factor = 1;                // > 0; 2: twice as fast
  int ranks = 1;                                // on the node, >= 1
  // Of the exchange of gradients, over 0; 1: dense. nullopt: the profile's
  // ceiling holds, whatever exchange is in it.
  std::optional<double> density;
};

// The amounts of `ranks` ranks that share what those of `from` have together.
// The cached share stays: they share the cache and what is in it.
// REQUIRES: ranks >= 1.
Amounts shared_among(const Amounts& from, int ranks);

enum class Bottleneck { kCompute, kPrep, kFetch };
const char* bottleneck_name(Bottleneck it);  // "compute", "prep", "fetch"

// Rates are per rank.
struct WhatIfPoint {
  Figure samples_per_s;
  double ceiling_samples_per_s = 0;
  // What these alone allow; nullopt: not known.
  std::optional<double> prep_samples_per_s;
  std::optional<double> fetch_samples_per_s;  // infinite: nothing is fetched
  double trainer_cores = 0;  // of the task's cores; 0 where they are not its
  Bottleneck bottleneck = Bottleneck::kCompute;
  bool extrapolated = false;      // more loader cores than were measured
  std::optional<StepTimes> step;  // where the amounts have a density

  double share_of_ceiling() const {
    return samples_per_s.value / ceiling_samples_per_s;
  }
};

// The amount at which data ceases to be the bottleneck, or begins to be it.
struct Enough {
  enum class Kind { kAmount, kNone, kUnknown };
  Kind kind = Kind::kUnknown;
  double amount = 0;          // kAmount
  bool extrapolated = false;  // kAmount: beyond the cores that were measured
  std::string why;            // kNone and kUnknown
};

class WhatIf {
 public:
  // Errors: kInvalidArgument  predict()'s; the profile describes a job instead
  //                           of its costs
  [[nodiscard]] static Result<WhatIf> from(const Profile& profile,
                                           CoresOf cores_of = CoresOf::kTask);

  // From now on amounts may have a density.
  // Errors: compute_s()'s
  [[nodiscard]] Status set_exchange(const GradientExchange& exchange);
  bool exchange_known() const { return exchange_.has_value(); }

  // The amounts that the profile was measured with: the most cores of its
  // curve, its cached share, the bandwidth that was reached, its ranks; density
  // 1 where the exchange is among as many ranks.
  const Amounts& present() const { return present_; }
  bool prep_known() const { return prep_known_; }
  bool fetch_known() const { return bytes_known_; }  // given a bandwidth
  bool corner_known() const;  // of the ceiling; else it is taken as sharp

  // The interval is that of a profile whose rates are all wrong by its
  // relative_error. REQUIRES: amounts in the ranges that Amounts gives.
  WhatIfPoint at(const Amounts& amounts) const;

  // The smallest amount of each at which the rate is kDataKeepsUp of the
  // ceiling, all others as given. REQUIRES: as at().
  Enough enough_cores(const Amounts& others) const;
  Enough enough_cache(const Amounts& others) const;
  Enough enough_bandwidth(const Amounts& others) const;
  // The largest of each at which it still is. Of ranks: that share what
  // `others` has, at most kMostRanks.
  Enough most_accelerator(const Amounts& others) const;
  Enough most_ranks(const Amounts& others) const;
  // The highest density at which the ceiling is kDataKeepsUp of what it would
  // be without exchange.
  Enough most_density(const Amounts& others) const;

  static constexpr int kMostRanks = 4096;

 private:
  double ceiling(const Amounts& amounts) const;
  StepTimes step(const Amounts& amounts) const;
  double prep(double loader_cores) const;
  double prep_limit() const;
  double fetch(const Amounts& amounts) const;
  double loader_cores(const Amounts& amounts, double rate) const;
  double rate_with(const Amounts& amounts, double top, double rate) const;
  double solve(const Amounts& amounts) const;
  double needed_of_loader(const Amounts& amounts) const;
  double fetch_needed(const Amounts& others) const;
  bool data_keeps_up(const Amounts& amounts) const;

  CoresOf cores_of_ = CoresOf::kTask;
  Amounts present_;
  RateCurve curve_;           // one point where only a cost is known
  double ceiling_ = 0;        // samples/s
  double trainer_cpu_s_ = 0;  // per sample
  double bytes_ = 0;          // per sample
  double relative_error_ = 0;
  double measured_cores_ = 0;  // the curve's end; 0: no curve
  double most_cores_ = 0;      // that the loader's threads can use
  double corner_ceiling_ = 0;  // exponents; infinite: sharp
  double corner_storage_ = 0;
  int64_t measured_ranks_ = 1;  // on all nodes
  std::optional<GradientExchange> exchange_;
  double compute_s_ = 0;  // of a step, with exchange_
  bool prep_known_ = false;
  bool bytes_known_ = false;
};

}  // namespace penstock
