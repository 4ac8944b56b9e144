// Base of penstock.loader (loader/__init__.py): a JobLoader whose batches are
// NumPy arrays in the ring. Functions throw exceptions, which pybind11 converts
// to OSError and ValueError with the library's messages.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "loader/api/job_loader.h"

namespace penstock {

// Like os.fsdecode(): messages contain file names, which may not be valid text.
pybind11::str text_of(const std::string& bytes);
pybind11::list texts_of(const std::vector<std::string>& all);

[[noreturn]] void throw_error(const Error& error);

struct PythonDataset {
  std::shared_ptr<const Dataset> dataset;
};

// Messages that Python has not taken yet: broken samples, a cache's warnings.
class ReasonList {
 public:
  void add(const std::string& why);  // thread-safe
  std::vector<std::string> take();

 private:
  std::mutex mutex_;
  std::vector<std::string> reasons_;
};

class PythonStream {
 public:
  // With a share, images are copies, so that no other job waits for Python to
  // free them, and state() is not available.
  PythonStream(const PythonDataset& dataset, const PipelineOptions& options,
               size_t threads, const std::optional<JobShare>& share = {});

  // (images, labels, indices, number, ends_epoch, is_pinned), or None: no batch
  // can come before an older one is freed. During the wait other Python threads
  // run, and signal handlers are called.
  //
  // The images are views of the ring's memory. The batch is released when the
  // last view is destroyed, in any thread. The other arrays are copies.
  pybind11::object next();
  void end_step();
  // (count, seed, shuffle, epoch, position)
  std::tuple<uint64_t, uint64_t, bool, uint64_t, uint64_t> state();
  uint64_t samples_per_epoch();
  uint64_t epoch();  // of the next batch
  pybind11::dict counters();
  // REQUIRES: the stream has a share.
  pybind11::dict share_counters();
  std::string pin_refusal();
  pybind11::list take_broken();
  // Ends the threads. The ring exists as long as Python has batches.
  void close();

 private:
  // A reference of the caller's own: another thread may call close().
  std::shared_ptr<JobLoader> loader() const;

  const std::shared_ptr<ReasonList> broken_;
  const std::vector<pybind11::ssize_t> sample_shape_;
  std::shared_ptr<JobLoader> loader_;  // null: closed
};

}  // namespace penstock
