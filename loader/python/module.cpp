// penstock.loader._native; its types are described in loader/_native.pyi.
#include <pybind11/stl.h>

#include "loader/python/cache.h"
#include "loader/python/stream.h"

namespace penstock {
namespace {

namespace py = pybind11;

using Position = std::tuple<uint64_t, uint64_t, bool, uint64_t, uint64_t>;

PythonDataset open_data(const std::vector<std::string>& paths,
                        uint64_t record_bytes, uint64_t label_bytes,
                        uint64_t header_bytes, const std::string& image,
                        const std::string& label, bool last_dot,
                        bool allow_empty) {
  std::optional<RecordLayout> records;
  if (record_bytes > 0 || label_bytes > 0 || header_bytes > 0) {
    records = {record_bytes, label_bytes, header_bytes};
  }
  auto endings = parse_endings(image);
  if (!endings) throw_error(endings.error());
  const SampleRules rules{
      *std::move(endings), label,
      last_dot ? SampleRules::Key::kLastDot : SampleRules::Key::kFirstDot,
      allow_empty};
  auto opened = [&] {
    const py::gil_scoped_release others;
    return open_dataset(paths, records, rules);
  }();
  if (!opened) throw_error(opened.error());
  return {*std::move(opened)};
}

py::dict names_of(const LeftOutNames& names) {
  py::list first;
  for (const std::string& name : names.first) first.append(text_of(name));
  py::dict out;
  out["count"] = names.count;
  out["first"] = first;
  return out;
}

py::dict facts_of(const PythonDataset& data) {
  const DatasetFacts facts = data.dataset->facts();
  py::dict left_out;
  for (int why = 0; why < kOmissionCount; ++why) {
    left_out[omission_name(Omission(why))] = names_of(facts.left_out[why]);
  }
  py::dict out;
  out["text"] = text_of(facts.text());
  out["doubtful"] = facts.is_doubtful();
  out["samples"] = facts.samples;
  out["labelled"] = facts.labelled;
  out["classes"] =
      facts.classes > 0 ? py::object(py::int_(facts.classes)) : py::none();
  out["duplicates"] = facts.duplicates;
  out["empty_classes"] = names_of(facts.empty_classes);
  out["left_out"] = left_out;
  return out;
}

const Dataset& sample_in(const PythonDataset& data, uint64_t index) {
  if (index < data.dataset->size()) return *data.dataset;
  throw py::index_error("sample " + std::to_string(index) + " of " +
                        std::to_string(data.dataset->size()));
}

PipelineOptions options_of(size_t batch_size, int crop,
                           const std::string& augment, uint64_t seed,
                           bool shuffle, bool broken_fatal, bool direct) {
  PipelineOptions options;
  options.batch_samples = batch_size;
  options.crop_side = crop;
  if (augment == "centre") options.augment = Augment::kCentre;
  options.seed = seed;
  options.shuffle = shuffle;
  if (broken_fatal) options.broken = BrokenSamples::kFatal;
  if (direct) options.read_mode = ReadMode::kDirect;
  return options;
}

std::unique_ptr<PythonStream> open_stream(
    const PythonDataset& dataset, size_t batch_size, int crop,
    const std::string& augment, uint64_t seed, bool shuffle, uint64_t ranks,
    uint64_t rank, bool drop_tail, bool broken_fatal, bool ordered, bool direct,
    bool pinned, size_t ring, uint64_t memory_bytes, size_t threads,
    const std::optional<Position>& from) {
  PipelineOptions options = options_of(batch_size, crop, augment, seed, shuffle,
                                       broken_fatal, direct);
  options.ranks = ranks;
  options.rank = rank;
  if (drop_tail) options.tail = EpochTail::kDrop;
  options.is_ordered = ordered;
  options.pinned = pinned;
  options.ring_batches = ring;
  options.memory_bytes = memory_bytes;
  if (from) {
    const auto& [count, of_seed, of_shuffle, epoch, position] = *from;
    options.from = {count, of_seed, of_shuffle, epoch, position};
  }
  return std::make_unique<PythonStream>(dataset, options, threads);
}

std::unique_ptr<PythonStream> join_share(
    const PythonDataset& dataset, const std::string& name, size_t batch_size,
    int crop, const std::string& augment, uint64_t seed, bool shuffle,
    uint64_t jobs, uint32_t window, bool broken_fatal, bool direct,
    size_t threads) {
  return std::make_unique<PythonStream>(
      dataset,
      options_of(batch_size, crop, augment, seed, shuffle, broken_fatal,
                 direct),
      threads, JobShare{name, jobs, window});
}

void add_cache(py::module_& module) {
  using py::arg;
  module.def("fingerprint_of_text",
             [](const py::bytes& text) { return fingerprint_of_text(text); });
  py::class_<PythonCache>(module, "Cache")
      .def(py::init<uint64_t, uint64_t, std::string, uint64_t, std::string,
                    std::optional<uint32_t>, uint64_t>(),
           py::kw_only(), arg("samples"), arg("fingerprint"), arg("data_set"),
           arg("most_bytes"), arg("name"), arg("group"), arg("keep_s"))
      .def("get", &PythonCache::get)
      .def("put", &PythonCache::put)
      .def("count_miss", &PythonCache::count_miss)
      .def("__contains__", &PythonCache::contains)
      .def("__len__", &PythonCache::cached)
      .def_property_readonly("samples", &PythonCache::samples)
      .def("counters", &PythonCache::counters)
      .def_property_readonly("path", &PythonCache::path)
      .def("take_warnings", &PythonCache::take_warnings)
      .def("before", &PythonCache::before, arg("dataset"), arg("peers"));
}

}  // namespace
}  // namespace penstock

// NOLINTNEXTLINE(performance-unnecessary-value-param): the macro's
PYBIND11_MODULE(_native, module) {
  namespace py = pybind11;
  using penstock::PythonDataset;
  using penstock::PythonStream;
  using py::arg;

  py::class_<PythonDataset>(module, "Dataset")
      .def("__len__",
           [](const PythonDataset& data) { return data.dataset->size(); })
      .def("label",
           [](const PythonDataset& data, uint64_t index) {
             return penstock::sample_in(data, index).label(index);
           })
      .def("describe", penstock::facts_of)
      .def("name",
           [](const PythonDataset& data, uint64_t index) {
             return penstock::text_of(
                 penstock::sample_in(data, index).name(index));
           })
      .def_property_readonly("path",
                             [](const PythonDataset& data) {
                               return penstock::text_of(data.dataset->path());
                             })
      .def_property_readonly(
          "fingerprint",
          [](const PythonDataset& data) { return data.dataset->fingerprint(); })
      .def_property_readonly("tensor_bytes", [](const PythonDataset& data) {
        return data.dataset->tensor_bytes();
      });
  module.def("open_dataset", penstock::open_data, arg("paths"), py::kw_only(),
             arg("record_bytes"), arg("label_bytes"), arg("header_bytes"),
             arg("image"), arg("label"), arg("last_dot"), arg("allow_empty"));
  penstock::add_cache(module);
  module.def("join_share", penstock::join_share, arg("dataset"), py::kw_only(),
             arg("name"), arg("batch_size"), arg("crop"), arg("augment"),
             arg("seed"), arg("shuffle"), arg("jobs"), arg("window"),
             arg("broken_fatal"), arg("direct"), arg("threads"));

  py::class_<PythonStream>(module, "Stream")
      .def(py::init(&penstock::open_stream), arg("dataset"), py::kw_only(),
           arg("batch_size"), arg("crop"), arg("augment"), arg("seed"),
           arg("shuffle"), arg("ranks"), arg("rank"), arg("drop_tail"),
           arg("broken_fatal"), arg("ordered"), arg("direct"), arg("pinned"),
           arg("ring"), arg("memory_bytes"), arg("threads"), arg("position"))
      .def("next", &PythonStream::next)
      .def("end_step", &PythonStream::end_step)
      .def("state", &PythonStream::state)
      .def_property_readonly("samples_per_epoch",
                             &PythonStream::samples_per_epoch)
      .def_property_readonly("epoch", &PythonStream::epoch)
      .def("counters", &PythonStream::counters)
      .def("share_counters", &PythonStream::share_counters)
      .def("pin_refusal", &PythonStream::pin_refusal)
      .def("take_broken", &PythonStream::take_broken)
      .def("close", &PythonStream::close);
}
