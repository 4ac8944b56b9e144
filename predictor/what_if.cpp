#include "predictor/what_if.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/units.h"
#include "predictor/corner.h"

namespace penstock {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kBisections = 100;
constexpr double kFastest = 1e6;  // largest accelerator factor of the search

double exponent_of(double of_profile) {
  return of_profile > 0 ? of_profile : kInfinity;
}

Enough amount(double value, bool extrapolated = false) {
  return {Enough::Kind::kAmount, value, extrapolated, ""};
}

Enough none(std::string why) {
  return {Enough::Kind::kNone, 0, false, std::move(why)};
}

Enough unknown(std::string why) {
  return {Enough::Kind::kUnknown, 0, false, std::move(why)};
}

const char* const kNoPrep =
    "the profile has neither rate_at_cores nor loader_cpu_s_per_sample";
const char* const kNoBytes = "the profile has no bytes_per_sample";
const char* const kTooFewCores = "the cores prepare too little";
const char* const kNoBandwidth = "the profile has no fetch_bytes_per_s";

}  // namespace

Amounts shared_among(const Amounts& from, int ranks) {
  Amounts out = from;
  const double share = static_cast<double>(from.ranks) / ranks;
  if (out.cores) *out.cores *= share;
  if (out.bandwidth_bytes_per_s) *out.bandwidth_bytes_per_s *= share;
  out.ranks = ranks;
  return out;
}

const char* bottleneck_name(Bottleneck it) {
  switch (it) {
    case Bottleneck::kCompute:
      return "compute";
    case Bottleneck::kPrep:
      return "prep";
    case Bottleneck::kFetch:
      return "fetch";
  }
  return "compute";
}

Result<WhatIf> WhatIf::from(const Profile& profile, CoresOf cores_of) {
  if (profile.describes_job())
    return invalid("profile " + quoted(profile.name) +
                   " describes the job, not the costs of a sample; measure "
                   "them with penstock analyze, or see penstock predict");
  Result<Prediction> prediction = predict(profile);
  if (!prediction) return std::move(prediction).error();
  WhatIf out;
  out.cores_of_ = cores_of;
  out.ceiling_ = prediction->ceiling_samples_per_s.value;
  out.trainer_cpu_s_ = profile.trainer_cpu_s_per_sample;
  out.bytes_ = profile.bytes_per_sample;
  out.bytes_known_ = profile.bytes_per_sample > 0;
  out.relative_error_ = profile.relative_error;
  out.corner_ceiling_ = exponent_of(profile.corner_ceiling);
  out.corner_storage_ = exponent_of(profile.corner_storage);
  out.curve_ = rate_curve(profile);
  const Figure& cost = prediction->loader_cpu_s_per_sample;
  out.prep_known_ = cost.known();
  if (!out.curve_.empty()) {
    out.measured_cores_ = out.curve_.back().cores;
    out.present_.cores = out.measured_cores_;
  } else if (out.prep_known_) {
    out.curve_ = {{1, 1 / cost.value}};
  }
  out.most_cores_ =
      profile.loader_threads > 0
          ? std::max<double>(profile.loader_threads, out.measured_cores_)
          : kInfinity;
  out.present_.cached_share = profile.cached_share;
  out.present_.ranks = std::max(1, profile.ranks);
  out.measured_ranks_ = profile.ranks_in_all();
  if (profile.fetch_bytes_per_s > 0)
    out.present_.bandwidth_bytes_per_s = profile.fetch_bytes_per_s;
  return out;
}

bool WhatIf::corner_known() const { return std::isfinite(corner_ceiling_); }

Status WhatIf::set_exchange(const GradientExchange& exchange) {
  Result<double> computing_s = compute_s(exchange, ceiling_, measured_ranks_);
  if (!computing_s) return std::move(computing_s).error();
  compute_s_ = *computing_s;
  exchange_ = exchange;
  present_.density.reset();
  if (exchange.ranks == measured_ranks_) present_.density = 1;
  return Done{};
}

StepTimes WhatIf::step(const Amounts& amounts) const {
  return step_with(*exchange_, compute_s_ / amounts.accelerator_factor,
                   *amounts.density);
}

double WhatIf::ceiling(const Amounts& amounts) const {
  if (amounts.density) return exchange_->batch / step(amounts).step_s;
  return ceiling_ * amounts.accelerator_factor;
}

double WhatIf::prep(double loader_cores) const {
  if (!prep_known_) return kInfinity;
  return rate_of_cores(curve_, std::clamp(loader_cores, 0.0, most_cores_));
}

double WhatIf::prep_limit() const {
  return std::isfinite(most_cores_) ? prep(most_cores_) : kInfinity;
}

double WhatIf::fetch(const Amounts& amounts) const {
  const double bytes = bytes_ * (1 - amounts.cached_share);
  if (!bytes_known_ || bytes == 0 || !amounts.bandwidth_bytes_per_s)
    return kInfinity;
  return *amounts.bandwidth_bytes_per_s / bytes;
}

// Cores left for the loader by a trainer at this rate.
double WhatIf::loader_cores(const Amounts& amounts, double rate) const {
  if (!amounts.cores) return kInfinity;
  if (cores_of_ == CoresOf::kLoader) return *amounts.cores;
  return *amounts.cores - trainer_cpu_s_ * rate;
}

// The rate under the ceiling `top` if the trainer uses the CPU time of `rate`.
double WhatIf::rate_with(const Amounts& amounts, double top,
                         double rate) const {
  const double cores = loader_cores(amounts, rate);
  const double loader = corner(std::isinf(cores) ? kInfinity : prep(cores),
                               fetch(amounts), corner_storage_);
  return corner(top, loader, corner_ceiling_);
}

// Finds the fixed point of rate_with() by bisection. It is unique: rate_with()
// falls as `rate` rises.
double WhatIf::solve(const Amounts& amounts) const {
  const double top = ceiling(amounts);
  double high = rate_with(amounts, top, 0);
  if (rate_with(amounts, top, high) >= high) return high;
  double low = 0;
  for (int i = 0; i < kBisections && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle == low || middle == high) break;
    (rate_with(amounts, top, middle) >= middle ? low : high) = middle;
  }
  return low;
}

WhatIfPoint WhatIf::at(const Amounts& amounts) const {
  WhatIfPoint out;
  const double rate = solve(amounts);
  out.samples_per_s = {rate, rate * (1 - relative_error_),
                       rate * (1 + relative_error_)};
  out.ceiling_samples_per_s = ceiling(amounts);
  if (amounts.density) out.step = step(amounts);
  const double cores = loader_cores(amounts, rate);
  if (prep_known_ && amounts.cores) out.prep_samples_per_s = prep(cores);
  const bool all_cached = amounts.cached_share == 1;
  if (all_cached || (bytes_known_ && amounts.bandwidth_bytes_per_s))
    out.fetch_samples_per_s = fetch(amounts);
  if (cores_of_ == CoresOf::kTask) out.trainer_cores = trainer_cpu_s_ * rate;
  // The margin absorbs rounding in amounts from enough_*().
  if (rate >= kDataKeepsUp * out.ceiling_samples_per_s * (1 - 1e-9))
    out.bottleneck = Bottleneck::kCompute;
  else
    out.bottleneck = out.prep_samples_per_s.value_or(kInfinity) <=
                             out.fetch_samples_per_s.value_or(kInfinity)
                         ? Bottleneck::kPrep
                         : Bottleneck::kFetch;
  out.extrapolated = prep_known_ && amounts.cores && measured_cores_ > 0 &&
                     cores > measured_cores_ * (1 + 1e-9);
  return out;
}

// Loader rate necessary for kDataKeepsUp of the ceiling.
double WhatIf::needed_of_loader(const Amounts& amounts) const {
  const double top = ceiling(amounts);
  return beyond_corner(top, kDataKeepsUp * top, corner_ceiling_);
}

Enough WhatIf::enough_cores(const Amounts& others) const {
  if (!prep_known_) return unknown(kNoPrep);
  const double fetched = fetch(others);
  const double needed =
      beyond_corner(fetched, needed_of_loader(others), corner_storage_);
  if (std::isinf(needed))
    return none("storage supplies too little for any number of cores");
  if (needed > prep_limit() * (1 + 1e-9))
    return none("the loader has too few threads");
  const double cores = cores_for_rate(curve_, needed);
  const double trainer = cores_of_ == CoresOf::kTask
                             ? trainer_cpu_s_ * kDataKeepsUp * ceiling(others)
                             : 0;
  return amount(cores + trainer,
                measured_cores_ > 0 && cores > measured_cores_ * (1 + 1e-9));
}

// Storage rate necessary with the cores of `others`; infinite if these cores
// prepare too little.
double WhatIf::fetch_needed(const Amounts& others) const {
  const double cores = loader_cores(others, kDataKeepsUp * ceiling(others));
  const double prepared = std::isinf(cores) ? kInfinity : prep(cores);
  if (prepared <= 0) return kInfinity;
  return beyond_corner(prepared, needed_of_loader(others), corner_storage_);
}

Enough WhatIf::enough_cache(const Amounts& others) const {
  if (!bytes_known_) return unknown(kNoBytes);
  if (!others.bandwidth_bytes_per_s) return unknown(kNoBandwidth);
  const double needed = fetch_needed(others);
  if (std::isinf(needed)) return none(kTooFewCores);
  const double uncached = *others.bandwidth_bytes_per_s / bytes_ / needed;
  return amount(std::max(0.0, 1 - uncached));
}

Enough WhatIf::enough_bandwidth(const Amounts& others) const {
  if (!bytes_known_) return unknown(kNoBytes);
  const double needed = fetch_needed(others);
  if (std::isinf(needed)) return none(kTooFewCores);
  return amount(needed * bytes_ * (1 - others.cached_share));
}

bool WhatIf::data_keeps_up(const Amounts& amounts) const {
  return at(amounts).bottleneck == Bottleneck::kCompute;
}

Enough WhatIf::most_accelerator(const Amounts& others) const {
  const bool limits =
      (prep_known_ && others.cores) || std::isfinite(fetch(others));
  if (!limits) return unknown("the rate of the loader is unknown");
  Amounts tried = others;
  double low = std::log(1 / kFastest);
  double high = std::log(kFastest);
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    tried.accelerator_factor = std::exp(middle);
    (data_keeps_up(tried) ? low : high) = middle;
  }
  return amount(std::exp(low));
}

Enough WhatIf::most_ranks(const Amounts& others) const {
  const bool limits =
      (prep_known_ && others.cores) || std::isfinite(fetch(others));
  if (!limits) return unknown("the rate of the loader is unknown");
  if (!data_keeps_up(shared_among(others, 1)))
    return none("data is the bottleneck of one rank alone");
  int low = 1;
  int high = kMostRanks + 1;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (data_keeps_up(shared_among(others, middle)) ? low : high) = middle;
  }
  return amount(low);
}

Enough WhatIf::most_density(const Amounts& others) const {
  if (!exchange_) return unknown("the time of the exchange is unknown");
  const double alone =
      exchange_->batch / compute_s_ * others.accelerator_factor;
  const auto keeps_up = [&](double density) {
    Amounts tried = others;
    tried.density = density;
    return ceiling(tried) >= kDataKeepsUp * alone;
  };
  if (keeps_up(1)) return amount(1);
  if (!keeps_up(kLeastDensity))
    return none("selecting and messages take too long");
  double low = std::log(kLeastDensity);
  double high = 0;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = low + (high - low) / 2;
    (keeps_up(std::exp(middle)) ? low : high) = middle;
  }
  return amount(std::exp(low));
}

}  // namespace penstock
