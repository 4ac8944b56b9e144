#include <algorithm>
#include <bit>
#include <iterator>
#include <vector>

#include "common/units.h"
#include "predictor/figures.h"
#include "predictor/predictor.h"

namespace penstock {
namespace {

// Minimum of the trainer's own share of the time: clocks are not more exact.
constexpr double kMinBusyShare = 0.001;

// A time per sample of this many medians means a pause (an evaluation, a
// checkpoint), which does not belong to the ceiling.
constexpr double kPauseFactor = 3.0;

// Larger values come from garbage in the page.
constexpr double kMaxSamplesPerS = 1e9;
constexpr double kMaxCounter = 1e18;

// Time in which the trainer waited neither for data nor for CPUs used by its
// loader.
double busy_s(const Observation& o) {
  return std::max(o.seconds - o.wait_s - o.contention_s,
                  o.seconds * kMinBusyShare);
}

// Period of the kernel's counters.
double kernel_s(const Observation& o) {
  return o.sampled_s > 0 ? o.sampled_s : o.seconds;
}

bool contradicts_itself(const Observation& o) {
  for (double field :
       {o.seconds, o.samples, o.prepared, o.wait_s, o.contention_s, o.sampled_s,
        o.bytes, o.cached_bytes, o.loader_cpu_s, o.trainer_cpu_s})
    if (!(field >= 0 && field <= kMaxCounter)) return true;
  if (o.wait_s > o.seconds * 1.01) return true;
  if (o.samples > o.seconds * kMaxSamplesPerS) return true;
  return o.loader_cpu_s + o.trainer_cpu_s > kernel_s(o) * Corrector::kMaxCores;
}

// Rate from the time per sample; swaps the interval's ends.
Figure inverse(const Figure& seconds_per_sample) {
  if (!seconds_per_sample.known()) return {};
  // An infinite end would make the rate unknown.
  const double least =
      std::max(seconds_per_sample.low, seconds_per_sample.value * 1e-3);
  return {1 / seconds_per_sample.value, 1 / seconds_per_sample.high, 1 / least};
}

Figure scaled(const Figure& figure, double factor) {
  if (!figure.known()) return {};
  return {figure.value * factor, figure.low * factor, figure.high * factor};
}

}  // namespace

void Corrector::add(const Observation& observation) {
  const bool contradiction = contradicts_itself(observation);
  contradictions_ = contradictions_ << 1 | (contradiction ? 1 : 0);
  if (contradiction) return;
  if (warm_up_left_ > 0) {
    if (observation.samples > 0) --warm_up_left_;
    return;
  }
  window_[next_] = observation;
  next_ = (next_ + 1) % kWindow;
  count_ = std::min(count_ + 1, kWindow);
}

double Corrector::observed_s() const {
  double total = 0;
  for (int i = 0; i < count_; ++i) total += window_[i].seconds;
  return total;
}

bool Corrector::saw_sharing() const {
  return std::any_of(window_, window_ + count_,
                     [](const Observation& o) { return o.sharing; });
}

bool Corrector::trusted() const { return std::popcount(contradictions_) <= 6; }

// Busy time of the trainer per sample, without pauses.
Figure Corrector::trainer_s_per_sample() const {
  double per_sample[kWindow];
  int told = 0;
  for (int i = 0; i < count_; ++i)
    if (window_[i].samples > 0)
      per_sample[told++] = busy_s(window_[i]) / window_[i].samples;
  if (told == 0) return {};
  std::nth_element(per_sample, per_sample + told / 2, per_sample + told);
  const double pause_from = kPauseFactor * per_sample[told / 2];

  RatioEstimate estimate;
  for (int i = 0; i < count_; ++i) {
    const Observation& o = window_[i];
    const bool is_pause = o.samples > 0 && busy_s(o) > pause_from * o.samples;
    if (!is_pause) estimate.add(busy_s(o), o.samples);
  }
  return estimate.ratio();
}

// False: no loader thread was identified.
bool Corrector::used_loader_cpu() const {
  return std::any_of(window_, window_ + count_,
                     [](const Observation& o) { return o.loader_cpu_s > 0; });
}

// A kernel counter per sample finished by the loader. If the job does not
// report prepared samples, uses consumed ones: equal in the long run.
Figure Corrector::cost_per_sample(Ranks ranks, double Observation::*counter) {
  RatioEstimate by_prepared, by_consumed;
  double seconds = 0, sampled_s = 0;
  for (const Corrector* rank : ranks) {
    for (const Observation& o : std::span(rank->window_, rank->count_)) {
      if (o.replaying) continue;
      by_prepared.add(o.*counter, o.prepared);
      if (o.sharing) continue;
      by_consumed.add(o.*counter, o.samples);
      seconds += o.seconds;
      sampled_s += kernel_s(o);
    }
  }
  if (by_prepared.counts() > 0 || sampled_s <= 0) return by_prepared.ratio();
  // The periods of the page's steps and of the kernel's counters differ by at
  // most a step at each end.
  return scaled(by_consumed.ratio(), seconds / sampled_s);
}

// Recent share of bytes from the loader's cache.
double Corrector::cached_share(Ranks ranks) {
  std::vector<const Observation*> loads;  // newest first
  for (const Corrector* rank : ranks) {
    for (int i = 0; i < rank->count_; ++i) {
      const int at = (rank->next_ - 1 - i + kWindow) % kWindow;
      const Observation& o = rank->window_[at];
      if (!o.replaying && o.cached_bytes + o.bytes > 0) loads.push_back(&o);
    }
  }
  std::stable_sort(loads.begin(), loads.end(),
                   [](const Observation* a, const Observation* b) {
                     return a->ended_s > b->ended_s;
                   });
  if (loads.size() > kCacheWindow) loads.resize(kCacheWindow);
  double cached = 0, stored = 0;
  for (const Observation* o : loads) {
    cached += o->cached_bytes;
    stored += o->bytes;
  }
  return cached > 0 ? cached / (cached + stored) : 0;
}

// bytes x (1 - cached share). A sample's bytes are constant, so all
// observations count; the cached share changes, so only recent ones do.
Figure Corrector::storage_bytes_per_sample(Ranks ranks) {
  const Figure stored = cost_per_sample(ranks, &Observation::bytes);
  const Figure cached = cost_per_sample(ranks, &Observation::cached_bytes);
  if (!stored.known() || !cached.known() || cached.value <= 0) return stored;
  const Figure all{stored.value + cached.value, stored.low + cached.low,
                   stored.high + cached.high};
  return scaled(all, 1 - cached_share(ranks));
}

MeasuredCosts Corrector::costs_of(Ranks ranks) {
  std::vector<const Corrector*> told_apart;
  std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(told_apart),
               [](const Corrector* rank) { return rank->used_loader_cpu(); });
  return {cost_per_sample(told_apart, &Observation::loader_cpu_s),
          storage_bytes_per_sample(ranks)};
}

// 95th percentile of the trainer's CPU use, in cores.
double Corrector::trainer_cores() const {
  double cores[kWindow];
  int told = 0;
  for (int i = 0; i < count_; ++i)
    if (kernel_s(window_[i]) > 0)
      cores[told++] = window_[i].trainer_cpu_s / kernel_s(window_[i]);
  if (told == 0) return 0;
  double* const at = cores + (told * 95 + 99) / 100 - 1;
  std::nth_element(cores, at, cores + told);
  return *at;
}

Figure Corrector::trainer_cpu_s_per_sample() const {
  RatioEstimate estimate;
  double seconds = 0, sampled_s = 0;
  for (const Observation& o : std::span(window_, count_)) {
    estimate.add(o.trainer_cpu_s, o.samples);
    seconds += o.seconds;
    sampled_s += kernel_s(o);
  }
  if (sampled_s <= 0) return {};
  return scaled(estimate.ratio(), seconds / sampled_s);
}

Prediction Corrector::corrected(const std::optional<Prediction>& prior) const {
  const Corrector* const self = this;
  return corrected(prior, costs_of({&self, 1}));
}

Prediction Corrector::corrected(const std::optional<Prediction>& prior,
                                const MeasuredCosts& costs) const {
  Prediction out;
  out.basis = "unknown";
  if (prior) out = *prior;
  double samples = 0;
  for (int i = 0; i < count_; ++i) samples += window_[i].samples;
  const double seconds = observed_s();
  if (seconds < kMinObservedSeconds || samples < kMinSamples) return out;
  const Figure ceiling = inverse(trainer_s_per_sample());
  if (!ceiling.known()) return out;

  out.ceiling_samples_per_s = ceiling;
  if (costs.loader_cpu_s.known()) {
    out.loader_cpu_s_per_sample = costs.loader_cpu_s;
  }
  if (costs.storage_bytes.known()) {
    out.storage_bytes_per_sample = costs.storage_bytes;
  }
  out.demand_cores = product(ceiling, out.loader_cpu_s_per_sample);
  out.demand_bytes_per_s = product(ceiling, out.storage_bytes_per_sample);
  out.trainer_reserve_cores = trainer_cores();
  out.trainer_cpu_s_per_sample = trainer_cpu_s_per_sample();
  out.basis = "measured " + format_number(std::round(seconds)) + " s";
  return out;
}

}  // namespace penstock
