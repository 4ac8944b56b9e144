// Fills a cache before a job starts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "penstock/loader/sample_cache.h"

namespace penstock {

struct CacheFilled {
  uint64_t cached_samples = 0;  // in the cache now
  uint64_t cached_bytes = 0;
  uint64_t read_bytes = 0;  // from storage
  bool is_full = false;     // some samples found no room
  uint64_t unreadable_samples = 0;
  std::optional<Error> first_unreadable;
};

// Reads samples in order, several at a time, until all are in the cache or it
// is full. on_progress is called in the calling thread at least four times a
// second; false ends the filling.
// Errors: those of SampleReader  100 samples in a row (or all, if fewer) are
//         unreadable; the first one's error
[[nodiscard]] Result<CacheFilled> fill_cache(
    const std::shared_ptr<const Dataset>& dataset,
    const std::shared_ptr<SampleCache>& cache,
    const std::function<bool(uint64_t done, uint64_t all)>& on_progress);

}  // namespace penstock
