#include "loader/staging/shared_preparer.h"

#include <cerrno>
#include <filesystem>
#include <new>
#include <system_error>

#include "loader/data/fingerprint.h"
#include "loader/pipeline/pipeline_shape.h"
#include "loader/staging/shared_core.h"

namespace penstock {
namespace {

// Keeps batch numbers within their 40 bits.
constexpr uint64_t kMostEpochs = uint64_t{1} << 20;

Status check(const SharedOptions& options) {
  if (Status good = check_batch(options); !good) return good;
  if (options.threads_min < 1 || options.threads < options.threads_min ||
      options.threads_max < options.threads || options.threads_max > 4096) {
    return invalid("threads: allowed: 1 <= least <= first <= most <= 4096");
  }
  if (options.epochs > kMostEpochs) {
    return invalid("epochs: allowed: 0 (without an end) to " +
                   std::to_string(kMostEpochs));
  }
  if (options.jobs < 1 || options.jobs > kStageConsumers) {
    return invalid("jobs to wait for: allowed: 1 to 64");
  }
  if (options.window_batches < 2 || options.window_batches > kMostWindow) {
    return invalid("window: allowed: 2 to 512 batches");
  }
  if (options.spare_batches < 1 ||
      options.spare_batches > kMostBuffers - kMostWindow) {
    return invalid("spare batches: allowed: 1 to 512");
  }
  return Done{};
}

uint64_t fingerprint_of(const Dataset& dataset, const SharedOptions& options) {
  Fingerprint fingerprint;
  fingerprint.add(dataset.fingerprint());
  fingerprint.add(dataset.size());
  fingerprint.add(dataset.tensor_bytes());
  fingerprint.add(uint64_t{options.batch_samples});
  fingerprint.add(static_cast<uint64_t>(options.crop_side));
  fingerprint.add(static_cast<uint64_t>(options.augment));
  fingerprint.add(options.seed);
  fingerprint.add(uint64_t{options.shuffle});
  return fingerprint.value();
}

std::string text_of(const Dataset& dataset, const SharedOptions& options) {
  std::error_code ignored;
  const auto path = std::filesystem::absolute(dataset.path(), ignored);
  return std::to_string(dataset.size()) + " samples of " + path.string() +
         " (fingerprint " + std::to_string(dataset.fingerprint()) +
         "), batches of " + std::to_string(options.batch_samples) + ", crop " +
         std::to_string(options.crop_side) +
         (options.augment == Augment::kRandom ? ", random" : ", centre") +
         ", seed " + std::to_string(options.seed) +
         (options.shuffle ? ", shuffled" : ", not shuffled");
}

Result<std::unique_ptr<SharedCore>> make_core(
    std::shared_ptr<const Dataset> dataset, const SharedOptions& options,
    PipelineLink link) {
  const uint64_t samples = dataset->size();
  auto sampler = EpochSampler::create(
      {.count = samples, .seed = options.seed, .shuffle = options.shuffle});
  if (!sampler) return std::move(sampler).error();
  const StageBatchLayout layout(
      options.batch_samples,
      floats_per_sample(dataset->tensor_bytes(), options.crop_side));
  const StageShape shape{
      (samples + options.batch_samples - 1) / options.batch_samples,
      layout.bytes(), options.window_batches,
      options.window_batches + options.spare_batches};
  const CacheOwner owner = own_cache_folder();
  sweep_shares(owner);
  auto file = StageFile::join(
      owner, options.name,
      {fingerprint_of(*dataset, options), text_of(*dataset, options), shape});
  if (!file) return std::move(file).error();
  const BatchPlan plan({.batch_samples = options.batch_samples,
                        .epoch_samples = samples,
                        .first_epoch_samples = samples});
  BatchRecipe recipe{
      std::move(dataset),
      {options.read_mode, options.crop_side, options.augment, UINT64_MAX},
      options.seed,
      *std::move(sampler),
      plan,
      layout};
  return std::make_unique<SharedCore>(*std::move(file), std::move(recipe),
                                      options, std::move(link));
}

}  // namespace

Result<std::unique_ptr<SharedPreparer>> SharedPreparer::create(
    std::shared_ptr<const Dataset> dataset, const SharedOptions& options,
    PipelineLink link) {
  if (Status checked = check(options); !checked) {
    return std::move(checked).error();
  }
  try {
    auto core = make_core(std::move(dataset), options, std::move(link));
    if (!core) return std::move(core).error();
    if (Status started = (*core)->start(); !started) {
      return std::move(started).error();
    }
    return std::unique_ptr<SharedPreparer>(*std::move(core));
  } catch (const std::bad_alloc&) {
    return Error{Code::kLimit, ENOMEM, "share " + options.name + ": no memory"};
  } catch (const std::system_error& error) {
    return Error{Code::kLimit, error.code().value(),
                 "the system gives no control thread"};
  }
}

}  // namespace penstock
