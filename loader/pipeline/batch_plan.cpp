#include "loader/pipeline/batch_plan.h"

#include <algorithm>

namespace penstock {
namespace {

uint64_t batches_for(uint64_t samples, uint64_t batch_samples) {
  return samples / batch_samples + (samples % batch_samples > 0 ? 1 : 0);
}

}  // namespace

BatchPlan::BatchPlan(const Shape& shape)
    : shape_(shape),
      epoch_batches_(batches_for(shape.epoch_samples, shape.batch_samples)),
      first_epoch_batches_(
          batches_for(shape.first_epoch_samples, shape.batch_samples)) {}

BatchPlan::Place BatchPlan::place_of(uint64_t batch) const {
  if (epoch_batches_ == 0) {
    return {UINT64_MAX, batch * shape_.batch_samples};
  }
  if (batch < first_epoch_batches_) {
    return {shape_.first_epoch_samples, batch * shape_.batch_samples};
  }
  const uint64_t epoch = (batch - first_epoch_batches_) / epoch_batches_;
  const uint64_t in_epoch = (batch - first_epoch_batches_) % epoch_batches_;
  const uint64_t begin =
      shape_.first_epoch_samples + epoch * shape_.epoch_samples;
  return {begin + shape_.epoch_samples,
          begin + in_epoch * shape_.batch_samples};
}

uint64_t BatchPlan::first_sample(uint64_t batch) const {
  return std::min(place_of(batch).begin, shape_.total_samples);
}

uint64_t BatchPlan::samples(uint64_t batch) const {
  const Place place = place_of(batch);
  const uint64_t end = std::min(place.epoch_end, shape_.total_samples);
  if (place.begin >= end) return 0;
  return std::min(shape_.batch_samples, end - place.begin);
}

bool BatchPlan::ends_epoch(uint64_t batch) const {
  if (epoch_batches_ == 0) return false;
  const Place place = place_of(batch);
  return place.begin + shape_.batch_samples >= place.epoch_end &&
         place.epoch_end <= shape_.total_samples;
}

}  // namespace penstock
