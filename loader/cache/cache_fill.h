// Fills a cache before a job runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "penstock/loader/sample_cache.h"

namespace penstock {

struct CacheFilled {
  uint64_t cached_samples = 0;  // that are in it now
  uint64_t cached_bytes = 0;
  uint64_t read_bytes = 0;  // from storage
  bool is_full = false;     // not all samples found room
  uint64_t unreadable_samples = 0;
  std::optional<Error> first_unreadable;
};

// Reads samples in their order, several at a time, until all are in the cache
// or it is full. on_progress, called in the calling thread at least four times
// a second, may end it (false).
// Errors: kIo and others of SampleReader  a hundred samples in a row, or all of
//         fewer, cannot be read: the first one's
[[nodiscard]] Result<CacheFilled> fill_cache(
    const std::shared_ptr<const Dataset>& dataset,
    const std::shared_ptr<SampleCache>& cache,
    const std::function<bool(uint64_t done, uint64_t all)>& on_progress);

}  // namespace penstock
