#include "bench/loader/program/loader_loop.h"

#include <memory>
#include <optional>

#include "penstock/loader/dataset.h"
#include "penstock/loader/pipeline.h"

namespace penstock {
namespace {

constexpr size_t kBatchSamples = 64;
constexpr uint64_t kWait_ns = 1'000'000'000;

Result<std::unique_ptr<Pipeline>> open_pipeline(const std::string& folder,
                                                size_t threads) {
  auto dataset = open_folder(folder);
  if (!dataset) return std::move(dataset).error();
  PipelineOptions options;
  options.batch_samples = kBatchSamples;
  options.threads = threads;
  options.threads_max = threads;
  return Pipeline::create(*std::move(dataset), options, {});
}

}  // namespace

Status run_loader_loop(const std::string& folder, size_t threads,
                       const MeasuredTime& time) {
  auto pipeline = open_pipeline(folder, threads);
  if (!pipeline) return std::move(pipeline).error();
  Status done = run_measured(time, [&]() -> Result<uint64_t> {
    auto batch = (*pipeline)->next(kWait_ns);
    if (!batch) return std::move(batch).error();
    if (!*batch) return uint64_t{0};
    const uint64_t samples = (*batch)->size;
    (*pipeline)->release(**batch);
    return samples;
  });
  // A skipped picture costs little CPU time and would distort the result.
  if (done && (*pipeline)->counters().broken > 0)
    return invalid(folder + " has broken pictures");
  return done;
}

}  // namespace penstock
