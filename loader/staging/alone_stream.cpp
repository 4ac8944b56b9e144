#include "loader/staging/alone_stream.h"

namespace penstock {

PipelineOptions AloneStream::options_of(uint64_t epoch,
                                        uint64_t position) const {
  const uint64_t samples = recipe_.dataset->size();
  PipelineOptions options;
  static_cast<BatchOptions&>(options) = options_;
  options.from =
      SamplerState{samples, options_.seed, options_.shuffle, epoch, position};
  options.total_samples = samples - position;
  return options;
}

Status AloneStream::begin(uint64_t epoch, uint64_t first_batch) {
  const uint64_t position = first_batch * options_.batch_samples;
  auto pipeline =
      Pipeline::create(recipe_.dataset, options_of(epoch, position), link_);
  if (!pipeline) return std::move(pipeline).error();
  const std::lock_guard lock(mutex_);
  pipeline_ = *std::move(pipeline);
  is_on_ = true;
  return Done{};
}

void AloneStream::end() {
  pipeline_->stop();
  const std::lock_guard lock(mutex_);
  LoaderCounters all = ended_ + pipeline_->counters();
  all.threads = 0;
  ended_ = all;
  is_on_ = false;
  pipeline_.reset();
}

LoaderCounters AloneStream::counters() const {
  const std::lock_guard lock(mutex_);
  return pipeline_ ? ended_ + pipeline_->counters() : ended_;
}

}  // namespace penstock
