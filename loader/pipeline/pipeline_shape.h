// Divides a pipeline's memory among ring and threads. Pure.
#pragma once

#include <cstdint>

#include "common/result.h"
#include "loader/pipeline/batch_ring.h"
#include "penstock/loader/pipeline.h"

namespace penstock {

struct PipelineShape {
  BatchRing::Shape ring;
  uint64_t thread_bytes = UINT64_MAX;  // limit of one thread
  size_t threads_max = 1;  // at most the options'; fewer if memory is short
};

// Floats of a prepared sample. tensor_bytes: see Dataset.
uint64_t floats_per_sample(uint64_t tensor_bytes, int crop_side);

// Errors: kInvalidArgument  batch_samples or crop_side is out of its range
[[nodiscard]] Status check_batch(const BatchOptions& options);

// plan: of the ring.
// Errors: those of Pipeline::create() for options other than the sampler's
[[nodiscard]] Result<PipelineShape> pipeline_shape(
    const PipelineOptions& options, uint64_t sample_floats,
    const BatchPlan::Shape& plan);

}  // namespace penstock
