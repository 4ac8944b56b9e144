// Counters of loader threads. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "libpenstock/include/penstock.h"
#include "loader/pipeline/sample_preparer.h"
#include "penstock/loader/batch_source.h"

namespace penstock {

// Sums two loaders of the same data set; cache_samples, data_samples and share
// are a's.
inline LoaderCounters operator+(LoaderCounters a, const LoaderCounters& b) {
  a.prepared += b.prepared;
  a.broken += b.broken;
  a.bytes += b.bytes;
  a.cached += b.cached;
  a.cached_bytes += b.cached_bytes;
  a.peer += b.peer;
  a.peer_bytes += b.peer_bytes;
  a.fetch_ns += b.fetch_ns;
  a.prep_ns += b.prep_ns;
  a.cpu_ns += b.cpu_ns;
  a.threads += b.threads;
  return a;
}

// Copies what a loader counts into what its job reports; the rest stays.
inline void add_counters(const LoaderCounters& loader,
                         penstock_progress& progress) {
  progress.bytes = loader.bytes;
  progress.fetch_ns = loader.fetch_ns;
  progress.prep_ns = loader.prep_ns;
  progress.prepared = loader.prepared;
  progress.loader_threads = static_cast<uint32_t>(loader.threads);
  progress.cached = loader.cached;
  progress.cached_bytes = loader.cached_bytes;
  progress.cache_samples = loader.cache_samples;
  progress.data_samples = loader.data_samples;
  progress.peer = loader.peer;
  progress.peer_bytes = loader.peer_bytes;
  progress.share = loader.share;
}

class SampleCounters {
 public:
  void add_prepared(uint64_t samples) { prepared_ += samples; }
  void add_broken() { ++broken_; }
  void add_cpu_ns(uint64_t cpu_ns) { cpu_ns_ += cpu_ns; }
  // Adds a sample, good or broken.
  void add(const SampleFacts& facts) {
    bytes_ += facts.bytes;
    cached_ += facts.is_cached ? 1 : 0;
    cached_bytes_ += facts.cached_bytes;
    if (facts.is_from_peer) {
      ++peer_;
      peer_bytes_ += facts.cached_bytes;
    }
    fetch_ns_ += facts.fetch_ns;
    prep_ns_ += facts.prep_ns;
  }

  uint64_t prepared() const { return prepared_; }
  // Does not set threads, cache_samples, data_samples and share.
  LoaderCounters read() const {
    return {.prepared = prepared_,
            .broken = broken_,
            .bytes = bytes_,
            .cached = cached_,
            .cached_bytes = cached_bytes_,
            .peer = peer_,
            .peer_bytes = peer_bytes_,
            .fetch_ns = fetch_ns_,
            .prep_ns = prep_ns_,
            .cpu_ns = cpu_ns_};
  }

 private:
  std::atomic<uint64_t> prepared_{0};
  std::atomic<uint64_t> broken_{0};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> cached_{0};
  std::atomic<uint64_t> cached_bytes_{0};
  std::atomic<uint64_t> peer_{0};
  std::atomic<uint64_t> peer_bytes_{0};
  std::atomic<uint64_t> fetch_ns_{0};
  std::atomic<uint64_t> prep_ns_{0};
  std::atomic<uint64_t> cpu_ns_{0};
};

}  // namespace penstock
