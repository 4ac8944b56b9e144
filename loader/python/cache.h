// Base of penstock.loader.SampleCache (loader/_cache.py). Functions throw
// exceptions, which pybind11 converts.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>

#include "loader/python/stream.h"
#include "penstock/loader/sample_cache.h"

namespace penstock {

// Fingerprint of data that Python reads. It differs from those of other texts
// and of every Dataset.
uint64_t fingerprint_of_text(const std::string& text);

class PythonCache {
 public:
  PythonCache(uint64_t samples, uint64_t fingerprint,
              const std::string& data_set, uint64_t most_bytes,
              const std::string& name, std::optional<uint32_t> group,
              uint64_t keep_s);

  pybind11::object get(uint64_t index);  // bytes, or None
  void put(uint64_t index, const pybind11::buffer& sample);
  void count_miss();
  bool contains(uint64_t index) const;
  uint64_t cached() const;  // number of samples in the cache
  uint64_t samples() const { return cache_->samples(); }
  pybind11::dict counters() const;
  pybind11::str path() const { return text_of(cache_->path()); }
  pybind11::list take_warnings() { return texts_of(warnings_->take()); }
  // peers: see with_asked_cache(). If they are unavailable, adds a warning.
  PythonDataset before(const PythonDataset& dataset,
                       const std::string& peers) const;

 private:
  const std::shared_ptr<ReasonList> warnings_;
  SampleCacheOptions options_;
  std::shared_ptr<SampleCache> cache_;
};

}  // namespace penstock
