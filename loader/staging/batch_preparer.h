// Prepares whole batches. Each sample has the bits that a Pipeline gives it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "loader/pipeline/batch_plan.h"
#include "loader/pipeline/sample_counters.h"
#include "loader/pipeline/sample_preparer.h"
#include "loader/staging/stage_batch.h"
#include "penstock/loader/sampler.h"

namespace penstock {

// Inputs common to all preparing threads of a job. Immutable.
struct BatchRecipe {
  std::shared_ptr<const Dataset> dataset;
  SamplePreparer::Options options;
  uint64_t seed = 0;
  EpochSampler sampler;
  BatchPlan plan;
  StageBatchLayout layout;
};

// One per thread. The constructor's arguments must outlive it.
class BatchPreparer {
 public:
  // Called for each broken sample; `why` is the error message.
  using Broken = std::function<void(uint64_t index, const std::string& why)>;

  BatchPreparer(const BatchRecipe& recipe, TokenBucket& bucket,
                SampleCounters& counters, const Broken& broken)
      : recipe_(recipe),
        bucket_(bucket),
        counters_(counters),
        broken_(broken) {}

  // Fills the buffer with good samples. Of broken ones only the indices are
  // kept, behind those of the good ones. Increments `progress` for each sample
  // tried. False: stopping() ended it early; the buffer is incomplete.
  [[nodiscard]] bool prepare(uint64_t batch, uint8_t* buffer,
                             std::atomic<uint64_t>& progress,
                             const std::function<bool()>& stopping);

 private:
  Status prepare_sample(const EpochSampler::Sample& sample,
                        const std::function<bool()>& stopping, float* out,
                        SampleFacts& facts);

  const BatchRecipe& recipe_;
  TokenBucket& bucket_;
  SampleCounters& counters_;
  const Broken& broken_;
  std::unique_ptr<SamplePreparer> preparer_;
};

}  // namespace penstock
