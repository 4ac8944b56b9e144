// A job of a share, for tests within one process.
#pragma once

#include <memory>
#include <utility>

#include "loader/staging/shared_preparer.h"
#include "tests/unit/catch.h"

namespace penstock::test {

// Two jobs, batches of four samples.
inline SharedOptions small_options(uint64_t epochs) {
  SharedOptions options;
  options.name = "test";
  options.batch_samples = 4;
  options.crop_side = 16;
  options.seed = 7;
  options.epochs = epochs;
  options.threads = options.threads_max = 2;
  options.jobs = 2;
  return options;
}

// Fails the test where the job is refused.
inline std::unique_ptr<SharedPreparer> make(
    const std::shared_ptr<const Dataset>& dataset, const SharedOptions& options,
    const PipelineLink& link = {}) {
  auto shared = SharedPreparer::create(dataset, options, link);
  if (!shared) FAIL(shared.error().message);
  return *std::move(shared);
}

}  // namespace penstock::test
