// A rank's rate with other amounts of resources: cores, cache, storage
// bandwidth, a faster accelerator, more ranks on the node, a sparser exchange
// of gradients. Derivation: docs/model.md, section "What-if". Pure;
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

// From this share of the ceiling on, data is not the bottleneck. With a smooth
// corner the rate never reaches 1, and `penstock analyze` cannot distinguish
// rates within 0.03.
inline constexpr double kDataKeepsUp = 0.97;

// Users of Amounts::cores.
enum class CoresOf {
  kTask,    // loader and trainer share the cores, as with srun --cpus-per-task
  kLoader,  // only the loader, as with a grant of Penstock
};

// Resources of each rank. nullopt: unknown, no limit.
struct Amounts {
  std::optional<double> cores;                  // > 0
  std::optional<double> bandwidth_bytes_per_s;  // of storage, > 0
  double cached_share = 0;                      // 0..1
  double accelerator_factor = 1;                // > 0; 2: twice as fast
  int ranks = 1;                                // on the node, >= 1
  // Of the exchange of gradients, over 0; 1: dense. nullopt: use the profile's
  // ceiling, including any exchange in it.
  std::optional<double> density;
};

// The amounts per rank if `ranks` ranks share the total of `from`. The cached
// share is unchanged, because the ranks share the cache and its content.
// REQUIRES: ranks >= 1.
Amounts shared_among(const Amounts& from, int ranks);

enum class Bottleneck { kCompute, kPrep, kFetch };
const char* bottleneck_name(Bottleneck it);  // "compute", "prep", "fetch"

// Rates are per rank.
struct WhatIfPoint {
  Figure samples_per_s;
  double ceiling_samples_per_s = 0;
  // Limit by preparation alone and by fetch alone; nullopt: unknown.
  std::optional<double> prep_samples_per_s;
  std::optional<double> fetch_samples_per_s;  // infinite: all data is cached
  double trainer_cores = 0;  // used by the trainer; 0 with CoresOf::kLoader
  Bottleneck bottleneck = Bottleneck::kCompute;
  bool extrapolated = false;      // more loader cores than were measured
  std::optional<StepTimes> step;  // if the amounts have a density

  double share_of_ceiling() const {
    return samples_per_s.value / ceiling_samples_per_s;
  }
};

// The amount at which data stops or starts being the bottleneck.
struct Enough {
  enum class Kind {
    kAmount,
    kNone,    // no amount is enough
    kUnknown  // the profile lacks data
  };
  Kind kind = Kind::kUnknown;
  double amount = 0;          // kAmount
  bool extrapolated = false;  // kAmount: more cores than were measured
  std::string why;            // kNone and kUnknown: the reason
};

class WhatIf {
 public:
  // Errors: predict()'s; kInvalidArgument  the profile describes a job instead
  //                                        of its costs
  [[nodiscard]] static Result<WhatIf> from(const Profile& profile,
                                           CoresOf cores_of = CoresOf::kTask);

  // Allows amounts with a density in later calls.
  // Errors: compute_s()'s
  [[nodiscard]] Status set_exchange(const GradientExchange& exchange);
  bool exchange_known() const { return exchange_.has_value(); }

  // The amounts of the profile's measurement: the most cores of its curve, its
  // cached share, the bandwidth reached, its ranks, and density 1 if the
  // exchange is among the same number of ranks.
  const Amounts& present() const { return present_; }
  bool prep_known() const { return prep_known_; }
  bool fetch_known() const { return bytes_known_; }  // given a bandwidth
  bool corner_known() const;  // of the ceiling; otherwise assumed sharp

  // The interval assumes that all rates of the profile are wrong by its
  // relative_error. REQUIRES: amounts within the ranges in Amounts;
  // set_exchange() if they have a density.
  WhatIfPoint at(const Amounts& amounts) const;

  // The smallest amount at which the rate is kDataKeepsUp of the ceiling, with
  // all other amounts as given. REQUIRES: as at().
  Enough enough_cores(const Amounts& others) const;
  Enough enough_cache(const Amounts& others) const;
  Enough enough_bandwidth(const Amounts& others) const;
  // The largest amount at which the rate still is. most_ranks: ranks that share
  // the total of `others`, at most kMostRanks.
  Enough most_accelerator(const Amounts& others) const;
  Enough most_ranks(const Amounts& others) const;
  // The highest density at which the ceiling is kDataKeepsUp of the ceiling
  // without an exchange.
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
  RateCurve curve_;           // one point if only a cost is known
  double ceiling_ = 0;        // samples/s
  double trainer_cpu_s_ = 0;  // per sample
  double bytes_ = 0;          // per sample
  double relative_error_ = 0;
  double measured_cores_ = 0;  // the curve's end; 0: no curve
  double most_cores_ = 0;      // usable by the loader's threads
  double corner_ceiling_ = 0;  // exponents; infinite: sharp
  double corner_storage_ = 0;
  int64_t measured_ranks_ = 1;  // on all nodes
  std::optional<GradientExchange> exchange_;
  double compute_s_ = 0;  // of a step, with exchange_
  bool prep_known_ = false;
  bool bytes_known_ = false;
};

}  // namespace penstock
