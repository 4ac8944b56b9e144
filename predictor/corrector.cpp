#include <algorithm>
#include <bit>

#include "common/units.h"
#include "predictor/figures.h"
#include "predictor/predictor.h"

namespace penstock {
namespace {

// A trainer whose own time is a smaller share of the run than this is taken
// to need this share: clocks tell no more.
constexpr double kMinBusyShare = 0.001;

// An observation whose trainer took this many times the median per sample
// holds a pause (an evaluation, a checkpoint), which is no part of a ceiling.
constexpr double kPauseFactor = 3.0;

// What no rank reaches: figures beyond come from a page full of garbage.
constexpr double kMaxSamplesPerS = 1e9;
constexpr double kMaxCounter = 1e18;

// Time in which the trainer did not wait.
double busy_s(const Observation& o) {
  return std::max(o.seconds - o.wait_s, o.seconds * kMinBusyShare);
}

// What the kernel's counters cover.
double kernel_s(const Observation& o) {
  return o.sampled_s > 0 ? o.sampled_s : o.seconds;
}

bool contradicts_itself(const Observation& o) {
  for (double field :
       {o.seconds, o.samples, o.prepared, o.wait_s, o.sampled_s, o.bytes,
        o.cached_bytes, o.loader_cpu_s, o.trainer_cpu_s})
    if (!(field >= 0 && field <= kMaxCounter)) return true;
  if (o.wait_s > o.seconds * 1.01) return true;
  if (o.samples > o.seconds * kMaxSamplesPerS) return true;
  return o.loader_cpu_s + o.trainer_cpu_s > kernel_s(o) * Corrector::kMaxCores;
}

// Rate from time per item; the interval's ends change places.
Figure inverse(const Figure& seconds_per_sample) {
  if (!seconds_per_sample.known()) return {};
  // No interval may reach to an infinite rate: then it would be unknown.
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

bool Corrector::trusted() const { return std::popcount(contradictions_) <= 6; }

// Time in which the trainer does not wait, per sample.
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

void Corrector::add_prepared(double Observation::*counter,
                             RatioEstimate& cost) const {
  for (int i = 0; i < count_; ++i) {
    const Observation& o = window_[i];
    if (!o.replaying) cost.add(o.*counter, o.prepared);
  }
}

// Of a job that cannot tell what it has prepared: in the long run it consumes
// as much.
Figure Corrector::cost_per_consumed(double Observation::*counter) const {
  RatioEstimate cost;
  double seconds = 0, sampled_s = 0;
  for (int i = 0; i < count_; ++i) {
    const Observation& o = window_[i];
    if (o.replaying || o.sharing) continue;
    cost.add(o.*counter, o.samples);
    seconds += o.seconds;
    sampled_s += kernel_s(o);
  }
  // The page's steps and the kernel's counters cover times that differ by up
  // to a step at each end.
  return sampled_s > 0 ? scaled(cost.ratio(), seconds / sampled_s) : Figure{};
}

// A kernel's counter per sample that the loader has finished.
Figure Corrector::cost_per_sample(double Observation::*counter,
                                  Fellows fellows) const {
  RatioEstimate cost;
  add_prepared(counter, cost);
  for (const Corrector* fellow : fellows) fellow->add_prepared(counter, cost);
  return cost.counts() > 0 ? cost.ratio() : cost_per_consumed(counter);
}

// Where the bytes of the last samples came from.
Corrector::CacheUse Corrector::cache_use() const {
  CacheUse use;
  int told = 0;  // observations in which anything was loaded
  for (int i = 0; i < count_ && told < kCacheWindow; ++i) {
    const Observation& o = window_[(next_ - 1 - i + kWindow) % kWindow];
    if (o.replaying || o.cached_bytes + o.bytes <= 0) continue;
    use.cached_bytes += o.cached_bytes;
    use.stored_bytes += o.bytes;
    ++told;
  }
  return use;
}

// s (1 - h): a sample's bytes are the same all the time, what a cache serves of
// them is not.
Figure Corrector::storage_bytes_per_sample(Fellows fellows) const {
  const Figure stored = cost_per_sample(&Observation::bytes, fellows);
  const Figure cached = cost_per_sample(&Observation::cached_bytes, fellows);
  if (!stored.known() || !cached.known() || cached.value <= 0) return stored;
  const Figure all{stored.value + cached.value, stored.low + cached.low,
                   stored.high + cached.high};
  CacheUse use = cache_use();
  for (const Corrector* fellow : fellows) {
    const CacheUse more = fellow->cache_use();
    use.cached_bytes += more.cached_bytes;
    use.stored_bytes += more.stored_bytes;
  }
  const double loaded = use.cached_bytes + use.stored_bytes;
  return loaded > 0 ? scaled(all, use.stored_bytes / loaded) : all;
}

// 95th percentile of the CPUs that the trainer used.
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

Prediction Corrector::corrected(const std::optional<Prediction>& prior,
                                Fellows fellows) const {
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
  // No CPU time at all: no loader thread could be told apart.
  const Figure cost = cost_per_sample(&Observation::loader_cpu_s, fellows);
  if (cost.known() && cost.value > 0) out.loader_cpu_s_per_sample = cost;
  const Figure bytes = storage_bytes_per_sample(fellows);
  if (bytes.known()) out.storage_bytes_per_sample = bytes;
  out.demand_cores = product(ceiling, out.loader_cpu_s_per_sample);
  out.demand_bytes_per_s = product(ceiling, out.storage_bytes_per_sample);
  out.trainer_reserve_cores = trainer_cores();
  out.basis = "measured " + format_number(std::round(seconds)) + " s";
  return out;
}

}  // namespace penstock
