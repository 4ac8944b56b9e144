#include "loader/staging/batch_preparer.h"

#include <cerrno>
#include <new>

#include "common/clock.h"
#include "loader/cache/fault_point.h"
#include "loader/data/random.h"

namespace penstock {

Status BatchPreparer::prepare_sample(const EpochSampler::Sample& sample,
                                     const std::function<bool()>& stopping,
                                     float* out, SampleFacts& facts) {
  try {
    if (!preparer_) {
      preparer_ = std::make_unique<SamplePreparer>(*recipe_.dataset,
                                                   recipe_.options, bucket_);
    }
    return preparer_->prepare(
        sample.index, sample_seed(recipe_.seed, sample.epoch, sample.index),
        SampleSource::kUsual, stopping, out, facts);
  } catch (const std::bad_alloc&) {
    return Error{
        Code::kLimit, ENOMEM,
        recipe_.dataset->name(sample.index) + ": no memory to prepare it"};
  }
}

bool BatchPreparer::prepare(uint64_t batch, uint8_t* buffer,
                            std::atomic<uint64_t>& progress,
                            const std::function<bool()>& stopping) {
  const uint64_t cpu_begin_ns = thread_cpu_ns();
  const StageBatchLayout& layout = recipe_.layout;
  const uint64_t first = recipe_.plan.first_sample(batch);
  const uint64_t samples = recipe_.plan.samples(batch);
  uint64_t good = 0, tried = 0;
  for (; tried < samples && !stopping(); ++tried) {
    const auto sample = recipe_.sampler.sample_at(first + tried);
    SampleFacts facts;
    const Status prepared = prepare_sample(
        sample, stopping, layout.data(buffer) + good * layout.sample_floats(),
        facts);
    fault_point("prepared a sample");
    progress.fetch_add(1, std::memory_order_relaxed);
    counters_.add(facts.counted);
    if (!prepared && stopping()) break;
    if (!prepared) {
      counters_.add({.broken = 1});
      broken_(sample.index, prepared.error().message);
      layout.indices(buffer)[samples - 1 - (tried - good)] = sample.index;
      continue;
    }
    layout.labels(buffer)[good] = facts.label;
    layout.indices(buffer)[good] = sample.index;
    ++good;
  }
  layout.size(buffer) = good;
  counters_.add({.prepared = good, .cpu_ns = thread_cpu_ns() - cpu_begin_ns});
  return tried == samples;
}

}  // namespace penstock
