#include "loader/python/stream.h"

#include <pybind11/numpy.h>

#include "loader/api/errno_of.h"
#include "loader/pipeline/sample_counters.h"

namespace penstock {
namespace {

namespace py = pybind11;

// Maximum delay of a signal handler.
constexpr uint64_t kSlice_ns = 100000000;

struct HeldBatch {
  std::shared_ptr<JobLoader> loader;
  Batch batch;
};

// The owner that the arrays of one batch share; it releases the batch.
py::capsule owner_of(std::shared_ptr<JobLoader> loader, const Batch& batch) {
  auto held = std::make_unique<HeldBatch>(HeldBatch{std::move(loader), batch});
  py::capsule owner(held.get(), [](void* pointer) {
    const std::unique_ptr<HeldBatch> last(static_cast<HeldBatch*>(pointer));
    (void)last->loader->release(last->batch);
  });
  (void)held.release();
  return owner;
}

std::vector<py::ssize_t> shape_of(const Dataset& dataset, int crop_side) {
  if (dataset.tensor_bytes() > 0) {
    return {static_cast<py::ssize_t>(dataset.tensor_bytes())};
  }
  return {3, crop_side, crop_side};
}

// The deleter releases the GIL, which the last owner's thread holds: other
// Python threads need it while the destructor waits for the loader's threads.
std::shared_ptr<JobLoader> shared(std::unique_ptr<JobLoader> loader) {
  return {loader.release(), [](JobLoader* last) {
            const py::gil_scoped_release others;
            delete last;
          }};
}

}  // namespace

py::str text_of(const std::string& bytes) {
  return py::reinterpret_steal<py::str>(PyUnicode_DecodeFSDefaultAndSize(
      bytes.data(), static_cast<py::ssize_t>(bytes.size())));
}

py::list texts_of(const std::vector<std::string>& all) {
  py::list texts;
  for (const std::string& bytes : all) texts.append(text_of(bytes));
  return texts;
}

void throw_error(const Error& error) {
  const py::str message = text_of(error.message);
  if (error.code == Code::kInvalidArgument) {
    PyErr_SetObject(PyExc_ValueError, message.ptr());
  } else {
    const py::tuple arguments = py::make_tuple(errno_of(error), message);
    PyErr_SetObject(PyExc_OSError, arguments.ptr());
  }
  throw py::error_already_set();
}

void ReasonList::add(const std::string& why) {
  const std::lock_guard lock(mutex_);
  reasons_.push_back(why);
}

std::vector<std::string> ReasonList::take() {
  std::vector<std::string> taken;
  const std::lock_guard lock(mutex_);
  taken.swap(reasons_);
  return taken;
}

PythonStream::PythonStream(const PythonDataset& dataset,
                           const PipelineOptions& options, size_t threads,
                           const std::optional<JobShare>& share)
    : broken_(std::make_shared<ReasonList>()),
      sample_shape_(shape_of(*dataset.dataset, options.crop_side)) {
  JobLoaderOptions settings;
  settings.pipeline = options;
  settings.threads = threads;
  settings.broken = [broken = broken_](const std::string& why) {
    broken->add(why);
  };
  auto opened = [&] {
    const py::gil_scoped_release others;
    return share ? JobLoader::join(dataset.dataset, *share, std::move(settings))
                 : JobLoader::open(dataset.dataset, std::move(settings));
  }();
  if (!opened) throw_error(opened.error());
  loader_ = shared(*std::move(opened));
}

std::shared_ptr<JobLoader> PythonStream::loader() const {
  if (!loader_) throw py::value_error("the loader is closed");
  if (loader_->is_forked()) {
    throw std::runtime_error(
        "this loader's threads are in the process that was forked: a Loader "
        "works in the process that made it. Under a DataLoader set "
        "num_workers=0; the loader has threads of its own");
  }
  return loader_;
}

py::object PythonStream::next() {
  const std::shared_ptr<JobLoader> here = loader();
  for (;;) {
    bool is_held_up = false;
    auto batch = [&] {
      const py::gil_scoped_release others;
      auto taken = here->next(kSlice_ns);
      if (taken && !*taken) is_held_up = here->is_held_up();
      return taken;
    }();
    if (!batch) throw_error(batch.error());
    if (*batch) {
      const Batch& taken = **batch;
      const py::capsule owner = owner_of(here, taken);
      // Without a base object NumPy copies the data.
      const py::handle base = here->is_shared() ? nullptr : owner.ptr();
      const auto size = static_cast<py::ssize_t>(taken.size);
      std::vector<py::ssize_t> shape = sample_shape_;
      shape.insert(shape.begin(), size);
      // torch does not support uint64.
      const auto* const indices =
          reinterpret_cast<const int64_t*>(taken.indices);
      return py::make_tuple(py::array_t<float>(shape, taken.data, base),
                            py::array_t<int64_t>(size, taken.labels),
                            py::array_t<int64_t>(size, indices), taken.number,
                            taken.ends_epoch, taken.is_pinned);
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (is_held_up) return py::none();
  }
}

void PythonStream::end_step() {
  const std::shared_ptr<JobLoader> here = loader();
  const py::gil_scoped_release others;
  here->end_step();
}

std::tuple<uint64_t, uint64_t, bool, uint64_t, uint64_t> PythonStream::state() {
  const std::shared_ptr<JobLoader> here = loader();
  if (here->is_shared()) throw py::value_error("a share's jobs have no state");
  const py::gil_scoped_release others;
  const SamplerState now = here->state();
  return {now.count, now.seed, now.shuffle, now.epoch, now.position};
}

uint64_t PythonStream::samples_per_epoch() {
  return loader()->samples_per_epoch();
}

uint64_t PythonStream::epoch() {
  const std::shared_ptr<JobLoader> here = loader();
  const py::gil_scoped_release others;
  return here->epoch();
}

py::dict PythonStream::counters() {
  const LoaderCounters now = loader()->counters();
  py::dict counters;
  for (const LoaderCounter& it : kLoaderCounters) {
    counters[it.name] = now.*it.value;
  }
  counters["threads"] = now.threads;
  return counters;
}

py::dict PythonStream::share_counters() {
  const ShareCounters now = loader()->share();
  py::dict counters;
  counters["used_batches"] = now.used_batches;
  counters["lost_claims"] = now.lost_claims;
  counters["times_out"] = now.times_out;
  counters["alone_batches"] = now.alone_batches;
  return counters;
}

std::string PythonStream::pin_refusal() {
  const std::shared_ptr<JobLoader> here = loader();
  const py::gil_scoped_release others;
  return here->pin_refusal();
}

py::list PythonStream::take_broken() { return texts_of(broken_->take()); }

void PythonStream::close() {
  const std::shared_ptr<JobLoader> closed = std::move(loader_);
  const py::gil_scoped_release others;
  if (closed) closed->stop();
}

}  // namespace penstock
