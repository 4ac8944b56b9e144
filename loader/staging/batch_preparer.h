// Prepares whole batches, each sample as a Pipeline does.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "loader/batch_plan.h"
#include "loader/sample_preparer.h"
#include "loader/staging/stage_batch.h"
#include "penstock/loader/sampler.h"

namespace penstock {

// What all threads of a job have in common. Immutable but for its counters.
struct BatchRecipe {
  std::shared_ptr<const Dataset> dataset;
  SamplePreparer::Options options;
  uint64_t seed = 0;
  EpochSampler sampler;
  BatchPlan plan;
  StageBatchLayout layout;
  std::function<void(const std::string& why)> broken;
};

struct BatchCounters {
  std::atomic<uint64_t> prepared = 0;
  std::atomic<uint64_t> broken = 0;
  std::atomic<uint64_t> cpu_ns = 0;
};

// One per thread. What it is given must outlive it.
class BatchPreparer {
 public:
  BatchPreparer(const BatchRecipe& recipe, TokenBucket& bucket,
                BatchCounters& counters)
      : recipe_(recipe), bucket_(bucket), counters_(counters) {}

  // Fills the buffer. Broken samples are left out. False: stopping() said so
  // between two samples, and the buffer is not whole.
  [[nodiscard]] bool prepare(uint64_t batch, uint8_t* buffer,
                             const std::function<bool()>& stopping);

 private:
  Status prepare_sample(const EpochSampler::Sample& sample,
                        const std::function<bool()>& stopping, float* out,
                        SampleFacts& facts);

  const BatchRecipe& recipe_;
  TokenBucket& bucket_;
  BatchCounters& counters_;
  std::unique_ptr<SamplePreparer> preparer_;
};

}  // namespace penstock
