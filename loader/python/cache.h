// What penstock.loader.SampleCache (loader/_cache.py) is built on. Functions
// throw, as pybind11 wants it.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>

#include "loader/python/stream.h"
#include "penstock/loader/sample_cache.h"

namespace penstock {

// Of data whose samples Python reads: what tells them from all others, and from
// those of every Dataset.
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
  uint64_t cached() const;  // samples that are in it
  uint64_t samples() const { return cache_->samples(); }
  pybind11::dict counters() const;
  pybind11::str path() const { return text_of(cache_->path()); }
  pybind11::list take_warnings() { return texts_of(warnings_->take()); }
  // peers: as with_asked_cache()'s; where they cannot be had, a warning says
  // so.
  PythonDataset before(const PythonDataset& dataset,
                       const std::string& peers) const;

 private:
  const std::shared_ptr<ReasonList> warnings_;
  SampleCacheOptions options_;
  std::shared_ptr<SampleCache> cache_;
};

}  // namespace penstock
