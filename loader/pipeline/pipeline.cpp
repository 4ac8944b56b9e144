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

Pipeline::Pipeline(std::unique_ptr<PipelineCore> core)
    : core_(std::move(core)) {}
Pipeline::~Pipeline() = default;

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
    return std::unique_ptr<Pipeline>(new Pipeline(std::move(core)));
  } catch (const std::bad_alloc&) {
    return Error{Code::kLimit, ENOMEM,
                 "no memory for the ring of batches; a smaller batch or crop "
                 "needs less"};
  } catch (const std::system_error& error) {
    return Error{Code::kLimit, error.code().value(),
                 "the system gives no control thread"};
  }
}

Result<std::optional<Batch>> Pipeline::next(uint64_t timeout_ns) {
  return core_->next(timeout_ns);
}
void Pipeline::release(const Batch& batch) { core_->release(batch); }
void Pipeline::stop() { core_->stop(); }
bool Pipeline::finished() const { return core_->finished(); }
bool Pipeline::is_held_up() const { return core_->is_held_up(); }
const std::string& Pipeline::pin_refusal() const {
  return core_->pin_refusal();
}
SamplerState Pipeline::state() const { return core_->state(); }
uint64_t Pipeline::samples_per_epoch() const {
  return core_->samples_per_epoch();
}
uint64_t Pipeline::set_feed(const Feed& feed) { return core_->set_feed(feed); }
std::vector<uint64_t> Pipeline::subset(uint64_t samples) const {
  return core_->subset(samples);
}
LoaderCounters Pipeline::counters() const { return core_->counters(); }

}  // namespace penstock
