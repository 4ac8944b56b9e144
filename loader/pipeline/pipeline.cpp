#include "penstock/loader/pipeline.h"

#include <cerrno>
#include <new>
#include <system_error>

#include "loader/pipeline/pipeline_core.h"

namespace penstock {
namespace {

BatchPlan::Shape plan_of(const PipelineOptions& options,
                         const EpochSampler& sampler) {
  BatchPlan::Shape plan{options.batch_samples, options.total_samples};
  if (options.spans_epochs) return plan;
  plan.epoch_samples = sampler.samples_per_epoch();
  // If the resumed epoch has no samples left, sample 0 is of the next epoch.
  plan.first_epoch_samples = sampler.epoch_end(0);
  return plan;
}

}  // namespace

Result<std::unique_ptr<Pipeline>> Pipeline::create(
    std::shared_ptr<const Dataset> dataset, const PipelineOptions& options,
    PipelineLink link) {
  const auto sampler =
      EpochSampler::create({dataset->size(), options.seed, options.ranks,
                            options.rank, options.tail, options.shuffle},
                           options.from);
  if (!sampler) return sampler.error();
  const auto shape = pipeline_shape(
      options, floats_per_sample(dataset->tensor_bytes(), options.crop_side),
      plan_of(options, *sampler));
  if (!shape) return shape.error();
  try {
    auto core = std::make_unique<PipelineCore>(
        std::move(dataset), options, *sampler, *shape, std::move(link));
    auto started = core->start();
    if (!started) return std::move(started).error();
    return std::unique_ptr<Pipeline>(std::move(core));
  } catch (const std::bad_alloc&) {
    return Error{Code::kLimit, ENOMEM,
                 "no memory for the ring of batches; a smaller batch or crop "
                 "needs less"};
  } catch (const std::system_error& error) {
    return Error{Code::kLimit, error.code().value(),
                 "the system gives no control thread"};
  }
}

}  // namespace penstock
