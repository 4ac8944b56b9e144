#include "exchange/select/select_pass.h"

#include <cmath>

// Highway compiles this file once for each vector instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exchange/select/select_pass.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace penstock::exchange {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Progress of the pass.
struct Place {
  size_t i = 0;
  SelectPass found;
};

// Stops before a whole vector of candidates might not fit into the room.
template <bool kHasGradient>
void select_vectors(const float* gradient, std::span<float> residual,
                    float threshold, uint32_t first_index, SparseRoom room,
                    Place& place) {
  const hn::ScalableTag<float> floats;
  const hn::RebindToUnsigned<decltype(floats)> words;
  const size_t lanes = hn::Lanes(floats);
  const auto least = hn::Set(floats, threshold);
  auto index = hn::Iota(words, first_index);
  auto poison = hn::Zero(floats);  // NaN after an infinity or a NaN
  size_t i = 0, taken = 0;
  for (; i + lanes <= residual.size() && taken + lanes <= room.values.size();
       i += lanes, index = hn::Add(index, hn::Set(words, uint32_t(lanes)))) {
    auto sum = hn::LoadU(floats, residual.data() + i);
    if (kHasGradient) sum = hn::Add(sum, hn::LoadU(floats, gradient + i));
    const auto magnitude = hn::Abs(sum);
    poison = hn::MulAdd(magnitude, hn::Zero(floats), poison);
    const auto hit = hn::Not(hn::Lt(magnitude, least));
    if (HWY_LIKELY(hn::AllFalse(floats, hit))) {
      if (kHasGradient) hn::StoreU(sum, floats, residual.data() + i);
      continue;
    }
    hn::StoreU(hn::IfThenZeroElse(hit, sum), floats, residual.data() + i);
    // Compress in registers: CompressStore takes ten times as long on Zen 4.
    hn::StoreU(hn::Compress(index, hn::RebindMask(words, hit)), words,
               room.indices.data() + taken);
    hn::StoreU(hn::Compress(sum, hit), floats, room.values.data() + taken);
    taken += hn::CountTrue(floats, hit);
  }
  place.i = i;
  place.found.taken = place.found.candidates = taken;
  place.found.is_finite = hn::AllTrue(floats, hn::Eq(poison, hn::Zero(floats)));
}

// Handles the elements that select_vectors() left: less than a vector of them,
// or those for which the room was too small.
void select_scalars(const float* gradient, std::span<float> residual,
                    float threshold, uint32_t first_index, SparseRoom room,
                    Place& place) {
  SelectPass& found = place.found;
  for (size_t i = place.i; i < residual.size(); ++i) {
    const float sum = residual[i] + (gradient != nullptr ? gradient[i] : 0.0f);
    found.is_finite = found.is_finite && std::isfinite(sum);
    const bool is_candidate = !(std::fabs(sum) < threshold);
    found.candidates += is_candidate ? 1 : 0;
    const bool is_taken = is_candidate && found.taken < room.values.size();
    if (is_taken) {
      room.indices[found.taken] = first_index + static_cast<uint32_t>(i);
      room.values[found.taken++] = sum;
    }
    residual[i] = is_taken ? 0.0f : sum;
  }
}

SelectPass select(std::span<const float> gradient, std::span<float> residual,
                  float threshold, uint32_t first_index, SparseRoom room) {
  Place place;
  const float* added = gradient.empty() ? nullptr : gradient.data();
  if (added != nullptr) {
    select_vectors<true>(added, residual, threshold, first_index, room, place);
  } else {
    select_vectors<false>(added, residual, threshold, first_index, room, place);
  }
  select_scalars(added, residual, threshold, first_index, room, place);
  return place.found;
}

}  // namespace HWY_NAMESPACE
}  // namespace penstock::exchange
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::exchange {

HWY_EXPORT(select);

SelectPass accumulate_and_select(std::span<const float> gradient,
                                 std::span<float> residual, float threshold,
                                 uint32_t first_index, SparseRoom room) {
  return HWY_DYNAMIC_DISPATCH(select)(gradient, residual, threshold,
                                      first_index, room);
}

}  // namespace penstock::exchange
#endif
