// Counters of loader threads. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "libpenstock/include/penstock.h"
#include "penstock/loader/batch_source.h"

namespace penstock {

// The figures that only grow, in the order in which Python has them.
struct LoaderCounter {
  const char* name;
  uint64_t LoaderCounters::*value;
  uint64_t penstock_progress::*reported = nullptr;  // nullptr: not reported
};
inline constexpr std::array<LoaderCounter, 10> kLoaderCounters = {
    {{"prepared", &LoaderCounters::prepared, &penstock_progress::prepared},
     {"broken", &LoaderCounters::broken},
     {"bytes", &LoaderCounters::bytes, &penstock_progress::bytes},
     {"cached", &LoaderCounters::cached, &penstock_progress::cached},
     {"cached_bytes", &LoaderCounters::cached_bytes,
      &penstock_progress::cached_bytes},
     {"peer", &LoaderCounters::peer, &penstock_progress::peer},
     {"peer_bytes", &LoaderCounters::peer_bytes,
      &penstock_progress::peer_bytes},
     {"fetch_ns", &LoaderCounters::fetch_ns, &penstock_progress::fetch_ns},
     {"prep_ns", &LoaderCounters::prep_ns, &penstock_progress::prep_ns},
     {"cpu_ns", &LoaderCounters::cpu_ns}}};

// Sums two loaders of the same data set; cache_samples, data_samples and share
// are a's.
inline LoaderCounters operator+(LoaderCounters a, const LoaderCounters& b) {
  for (const LoaderCounter& it : kLoaderCounters) a.*it.value += b.*it.value;
  a.threads += b.threads;
  return a;
}

// Copies what a loader counts into what its job reports; the rest stays.
inline void add_counters(const LoaderCounters& loader,
                         penstock_progress& progress) {
  for (const LoaderCounter& it : kLoaderCounters) {
    if (it.reported != nullptr) progress.*it.reported = loader.*it.value;
  }
  progress.loader_threads = static_cast<uint32_t>(loader.threads);
  progress.cache_samples = loader.cache_samples;
  progress.data_samples = loader.data_samples;
  progress.share = loader.share;
}

class SampleCounters {
 public:
  // Adds what only grows.
  void add(const LoaderCounters& more) {
    for (size_t i = 0; i < counts_.size(); ++i) {
      counts_[i] += more.*kLoaderCounters[i].value;
    }
  }
  // Does not set threads, cache_samples, data_samples and share.
  LoaderCounters read() const {
    LoaderCounters all;
    for (size_t i = 0; i < counts_.size(); ++i) {
      all.*kLoaderCounters[i].value = counts_[i];
    }
    return all;
  }

 private:
  std::array<std::atomic<uint64_t>, kLoaderCounters.size()> counts_{};
};

}  // namespace penstock
