#include "loader/python/cache.h"

#include <span>

#include "loader/api/asked_cache.h"
#include "loader/data/fingerprint.h"

namespace penstock {
namespace {

namespace py = pybind11;

uint64_t checked(const SampleCache& cache, uint64_t index) {
  if (index < cache.samples()) return index;
  throw py::index_error("sample " + std::to_string(index) + " of " +
                        std::to_string(cache.samples()));
}

// A view of a Python buffer. While it exists, the memory is neither moved nor
// freed.
class Bytes {
 public:
  explicit Bytes(const py::buffer& buffer) {
    if (PyObject_GetBuffer(buffer.ptr(), &view_, PyBUF_SIMPLE) != 0) {
      throw py::error_already_set();
    }
  }
  ~Bytes() { PyBuffer_Release(&view_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  std::span<const uint8_t> get() const {
    return {static_cast<const uint8_t*>(view_.buf),
            static_cast<size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

}  // namespace

uint64_t fingerprint_of_text(const std::string& text) {
  Fingerprint fingerprint;
  fingerprint.add("penstock.loader.SampleCache");
  fingerprint.add(text);
  return fingerprint.value();
}

PythonCache::PythonCache(uint64_t samples, uint64_t fingerprint,
                         const std::string& data_set, uint64_t most_bytes,
                         const std::string& name, std::optional<uint32_t> group,
                         uint64_t keep_s)
    : warnings_(std::make_shared<ReasonList>()) {
  options_.name = name;
  options_.most_bytes = most_bytes;
  options_.group = group;
  options_.keep_s = keep_s;
  options_.warn = [warnings = warnings_](const std::string& what) {
    warnings->add(what);
  };
  auto opened = [&] {
    const py::gil_scoped_release others;
    return SampleCache::open(samples, fingerprint, data_set, options_);
  }();
  if (!opened) throw_error(opened.error());
  cache_ = *std::move(opened);
}

py::object PythonCache::get(uint64_t index) {
  const auto size = cache_->find(checked(*cache_, index));
  if (!size) return py::none();
  // Writing to a bytes object is allowed only before it is published.
  auto sample = py::reinterpret_steal<py::bytes>(
      PyBytes_FromStringAndSize(nullptr, static_cast<py::ssize_t>(*size)));
  if (!sample) throw py::error_already_set();
  auto* const out = reinterpret_cast<uint8_t*>(PyBytes_AsString(sample.ptr()));
  int64_t label = kNoLabel;
  const bool is_there = [&] {
    const py::gil_scoped_release others;
    return cache_->read(index, {out, static_cast<size_t>(*size)}, label);
  }();
  if (is_there) return sample;
  return py::none();
}

// Stores no label: datasets that use the cache take it from Dataset::label().
void PythonCache::put(uint64_t index, const py::buffer& sample) {
  const Bytes bytes(sample);
  checked(*cache_, index);
  const py::gil_scoped_release others;
  cache_->store(index, bytes.get(), kNoLabel);
}

void PythonCache::count_miss() { cache_->count_miss(); }

bool PythonCache::contains(uint64_t index) const {
  return index < cache_->samples() && cache_->find(index).has_value();
}

uint64_t PythonCache::cached() const {
  const py::gil_scoped_release others;
  uint64_t found = 0;
  for (uint64_t i = 0; i < cache_->samples(); ++i) {
    if (cache_->find(i)) ++found;
  }
  return found;
}

py::dict PythonCache::counters() const {
  const SampleCacheCounters now = cache_->counters();
  py::dict counters;
  counters["hits"] = now.hits;
  counters["hit_bytes"] = now.hit_bytes;
  counters["misses"] = now.misses;
  counters["damaged"] = now.damaged;
  counters["dropped"] = now.dropped;
  counters["peer"] = now.peer;
  counters["peer_bytes"] = now.peer_bytes;
  return counters;
}

PythonDataset PythonCache::before(const PythonDataset& dataset,
                                  const std::string& peers) const {
  auto cached = [&] {
    const py::gil_scoped_release others;
    return with_asked_peers(
        dataset.dataset, cache_, options_,
        [this](const Error& why) { warnings_->add(why.message); }, peers);
  }();
  if (!cached) throw_error(cached.error());
  return {*std::move(cached)};
}

}  // namespace penstock
