// Interface of a training loop to its batches: a Pipeline, or a SharedPreparer,
// whose batches several jobs prepare together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "penstock/loader/batch.h"
#include "penstock/result.h"

namespace penstock {

struct LoaderCounters {
  uint64_t prepared = 0;      // good samples
  uint64_t broken = 0;        // broken samples, counted at each attempt
  uint64_t bytes = 0;         // read from storage
  uint64_t cached = 0;        // samples from a Penstock cache
  uint64_t cached_bytes = 0;  // of those
  uint64_t peer = 0;          // of those, samples from other nodes' caches
  uint64_t peer_bytes = 0;
  uint64_t cache_samples = 0;  // in this node's cache now
  uint64_t data_samples = 0;   // of the data set
  uint64_t fetch_ns = 0;       // waiting for bandwidth and reading, summed
  uint64_t prep_ns = 0;        // decoding, cropping, normalising, summed
  uint64_t cpu_ns = 0;         // of the loader threads
  size_t threads = 0;          // now
  uint64_t share = 0;  // key of the share, equal in all its jobs; 0: none
};

// For one thread at a time, except counters(). The implementations have the
// details.
class BatchSource {
 public:
  virtual ~BatchSource() = default;

  // The next batch; nullopt if none came within timeout_ns (or somewhat less),
  // and at the stream's end (finished()).
  [[nodiscard]] virtual Result<std::optional<Batch>> next(
      uint64_t timeout_ns) = 0;
  // Frees the batch's memory for reuse. REQUIRES: it came from next(), and was
  // not released yet.
  virtual void release(const Batch& batch) = 0;
  // Stops the threads and waits for them; batches in use stay valid.
  // Afterwards next() must not be called.
  virtual void stop() = 0;
  // Every batch of the stream was handed out.
  virtual bool finished() const = 0;
  // next() cannot return a batch before a batch in use is released.
  virtual bool is_held_up() const = 0;

  virtual LoaderCounters counters() const = 0;  // thread-safe
};

}  // namespace penstock
