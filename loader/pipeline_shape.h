// How much memory a pipeline takes, and for what. Pure.
#pragma once

#include <cstdint>

#include "common/result.h"
#include "loader/batch_ring.h"
#include "penstock/loader/pipeline.h"

namespace penstock {

struct PipelineShape {
  BatchRing::Shape ring;
  uint64_t thread_bytes = UINT64_MAX;  // what one thread may use
  size_t threads_max = 1;  // up to the options'; fewer where memory is short
};

// What a prepared sample has. tensor_bytes: as Dataset has it.
uint64_t floats_per_sample(uint64_t tensor_bytes, int crop_side);

// plan: of the ring.
// Errors: those of Pipeline::create that are about options other than the
//         sampler's
[[nodiscard]] Result<PipelineShape> pipeline_shape(
    const PipelineOptions& options, uint64_t sample_floats,
    const BatchPlan::Shape& plan);

}  // namespace penstock
