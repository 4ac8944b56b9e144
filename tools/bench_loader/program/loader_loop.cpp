#include "tools/bench_loader/program/loader_loop.h"

#include <memory>
#include <optional>

#include "loader/dataset.h"
#include "loader/loader.h"

namespace penstock {
namespace {

constexpr size_t kBatchSamples = 64;
constexpr uint64_t kWait_ns = 1'000'000'000;

Result<std::unique_ptr<Loader>> open_loader(const std::string& folder,
                                            size_t threads) {
  Result<Dataset> dataset = open_dataset(folder, SampleFormat::kJpeg);
  if (!dataset) return std::move(dataset).error();
  LoaderOptions options;
  options.batch_samples = kBatchSamples;
  options.threads = threads;
  options.threads_max = threads;
  return Loader::create(*std::move(dataset), options, {});
}

}  // namespace

Status run_loader_loop(const std::string& folder, size_t threads,
                       const MeasuredTime& time) {
  auto loader = open_loader(folder, threads);
  if (!loader) return std::move(loader).error();
  Status done = run_measured(time, [&]() -> Result<uint64_t> {
    auto batch = (*loader)->next(kWait_ns);
    if (!batch) return std::move(batch).error();
    if (!*batch) return uint64_t{0};
    const uint64_t samples = (*batch)->size;
    (*loader)->release();
    return samples;
  });
  // A picture that is left out costs little, and counts for nothing.
  if (done && (*loader)->counters().broken > 0)
    return invalid(folder + " has broken pictures");
  return done;
}

}  // namespace penstock
