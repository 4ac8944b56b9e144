// What penstock.loader (loader/__init__.py) is built on: a JobLoader whose
// batches are NumPy arrays in the ring. Functions throw, as pybind11 wants it;
// Python gets OSError and ValueError with the library's messages.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "loader/job_loader.h"

namespace penstock {

// As os.fsdecode(): a file's name may be no text, and messages name files.
pybind11::str text_of(const std::string& bytes);
pybind11::list texts_of(const std::vector<std::string>& all);

[[noreturn]] void throw_error(const Error& error);

struct PythonDataset {
  std::shared_ptr<const Dataset> dataset;
};

// What Python was not told yet: broken samples, a cache's warnings.
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
  // Of a share, where one is given: images are copies then, so that no other
  // job waits for Python to free them, and there is no state().
  PythonStream(const PythonDataset& dataset, const PipelineOptions& options,
               size_t threads, const std::optional<JobShare>& share = {});

  // (images, labels, indices, number, ends_epoch, is_pinned), or None: no batch
  // comes before an older one is freed. Other Python threads run while it
  // waits, and signals' handlers are called. The images are the ring's memory
  // and give the batch back when their last view dies, in any thread; the
  // others are copies.
  pybind11::object next();
  void end_step();
  // (count, seed, shuffle, epoch, position)
  std::tuple<uint64_t, uint64_t, bool, uint64_t, uint64_t> state();
  uint64_t samples_per_epoch();
  uint64_t epoch();  // of the next batch
  pybind11::dict counters();
  // REQUIRES: a share was given.
  pybind11::dict share_counters();
  std::string pin_refusal();
  pybind11::list take_broken();
  // Ends the threads; batches that Python still has keep the ring.
  void close();

 private:
  // The caller's own, as close() may come in another thread.
  std::shared_ptr<JobLoader> loader() const;

  const std::shared_ptr<ReasonList> broken_;
  const std::vector<pybind11::ssize_t> sample_shape_;
  std::shared_ptr<JobLoader> loader_;  // null: closed
};

}  // namespace penstock
