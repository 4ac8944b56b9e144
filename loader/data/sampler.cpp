#include "penstock/loader/sampler.h"

#include <cstdint>
#include <string>

namespace penstock {
namespace {

constexpr uint64_t kMostSamples = uint64_t{1} << 48;
constexpr uint64_t kMostRanks = uint64_t{1} << 31;

Status check(const SamplerOptions& options) {
  if (options.count < 1 || options.count > kMostSamples) {
    return invalid("sampler: " + std::to_string(options.count) +
                   " samples; allowed: 1 to 2^48");
  }
  if (options.ranks < 1 || options.ranks > kMostRanks) {
    return invalid("sampler: " + std::to_string(options.ranks) +
                   " ranks; allowed: 1 to 2^31");
  }
  if (options.rank >= options.ranks) {
    return invalid("sampler: rank " + std::to_string(options.rank) + " of " +
                   std::to_string(options.ranks) + "; ranks count from 0");
  }
  if (options.tail == EpochTail::kDrop && options.count < options.ranks) {
    return invalid("sampler: " + std::to_string(options.count) +
                   " samples for " + std::to_string(options.ranks) +
                   " ranks leave none to any when the tail is dropped; pad it");
  }
  return Done{};
}

Status check(const SamplerState& from, const SamplerOptions& options) {
  if (from.count != options.count) {
    return invalid("sampler: the state is of a dataset of " +
                   std::to_string(from.count) + " samples; this one has " +
                   std::to_string(options.count));
  }
  if (from.seed != options.seed) {
    return invalid("sampler: the state is of seed " +
                   std::to_string(from.seed) +
                   "; asked for: " + std::to_string(options.seed));
  }
  if (from.shuffle != options.shuffle) {
    return invalid(from.shuffle
                       ? "sampler: the state is of a shuffled order; asked "
                         "for: none"
                       : "sampler: the state is of an order that is not "
                         "shuffled; asked for: a shuffled one");
  }
  if (from.position > from.count) {
    return invalid("sampler: the state's position " +
                   std::to_string(from.position) + " is beyond its " +
                   std::to_string(from.count) + " samples");
  }
  return Done{};
}

}  // namespace

EpochSampler::EpochSampler(const SamplerOptions& options,
                           const SamplerState& from)
    : options_(options),
      from_(from),
      order_(options.count, options.seed),
      rounds_(rounds_of(options.count)),
      first_rounds_(rounds_of(options.count - from.position)) {}

Result<EpochSampler> EpochSampler::create(
    const SamplerOptions& options, const std::optional<SamplerState>& from) {
  if (auto checked = check(options); !checked) return checked.error();
  const SamplerState state = from.value_or(
      SamplerState{options.count, options.seed, options.shuffle, 0, 0});
  if (auto checked = check(state, options); !checked) return checked.error();
  return EpochSampler(options, state);
}

uint64_t EpochSampler::rounds_of(uint64_t positions) const {
  const uint64_t more =
      options_.tail == EpochTail::kPad ? options_.ranks - 1 : 0;
  return (positions + more) / options_.ranks;
}

EpochSampler::Sample EpochSampler::sample_at(uint64_t n) const {
  uint64_t epoch = from_.epoch;
  uint64_t position = from_.position + n * options_.ranks;
  if (n >= first_rounds_) {
    epoch += 1 + (n - first_rounds_) / rounds_;
    position = (n - first_rounds_) % rounds_ * options_.ranks;
  }
  // Modulo: a padded round, or more ranks than samples.
  position = (position + options_.rank) % options_.count;
  return {epoch,
          options_.shuffle ? order_.sample_at(epoch, position) : position};
}

SamplerState EpochSampler::state_after(uint64_t n) const {
  SamplerState state = from_;
  if (n < first_rounds_) {
    state.position += n * options_.ranks;
    return state;
  }
  state.epoch += 1 + (n - first_rounds_) / rounds_;
  state.position = (n - first_rounds_) % rounds_ * options_.ranks;
  return state;
}

uint64_t EpochSampler::epoch_end(uint64_t n) const {
  if (n < first_rounds_) return first_rounds_;
  return n - (n - first_rounds_) % rounds_ + rounds_;
}

}  // namespace penstock
