#include "predictor/measured_rows.h"

#include <cmath>

#include "common/text_scan.h"
#include "common/units.h"
#include "predictor/csv_table.h"

namespace penstock {
namespace {

constexpr double kMaxGpus = 1e6;
constexpr double kMaxBatch = 1e9;
constexpr double kMaxRate = 1e12;

struct NumberColumn {
  const char* name;
  double JobFeatures::*field;
  double high;
};
constexpr NumberColumn kNumbers[] = {
    {"batch_per_gpu", &JobFeatures::batch_per_gpu, kMaxBatch},
    {"params_m", &JobFeatures::params_m, 1e9},
    {"fwd_gflops_per_sample", &JobFeatures::fwd_gflops_per_sample, 1e9},
    {"activations_m", &JobFeatures::activations_m, 1e9},
};

Status read_counts(const CsvTable& table, size_t row, JobFeatures& job) {
  Result<double> gpus = table.number(row, "gpus", 1, kMaxGpus, 1);
  if (!gpus) return std::move(gpus).error();
  Result<double> nodes = table.number(row, "nodes", 1, kMaxGpus, 1);
  if (!nodes) return std::move(nodes).error();
  if (*gpus != std::floor(*gpus) || *nodes != std::floor(*nodes)) {
    return table.error(row, "gpus and nodes must be whole numbers");
  }
  if (*nodes > *gpus) {
    return table.error(row, "nodes: must not be more than gpus");
  }
  job.gpus = static_cast<int>(*gpus);
  job.nodes = static_cast<int>(*nodes);
  return Done{};
}

// The unit of a sample: "unit=images/s; ..." gives "images".
std::string unit_of_note(std::string_view note) {
  const size_t at = note.find("unit=");
  if (at == note.npos) return "";
  note.remove_prefix(at + 5);
  return std::string(note.substr(0, note.find_first_of("/;")));
}

// The note without the parts that describe a single measurement.
std::string lasting_note(std::string_view note) {
  std::string out;
  while (!note.empty()) {
    std::string_view part = take_until(note, ';');
    while (part.starts_with(' ')) part.remove_prefix(1);
    for (const char* fleeting :
         {"step_time=", "placement=", "implied MFU", "syn-", "batch ",
          "MFU=", "IMS_PER_BATCH", "train_mem", "SUSPECT",
          "grad_accum=", "system=\""}) {
      if (part.starts_with(fleeting)) part = {};
    }
    if (!part.empty()) out += ";" + std::string(part);
  }
  return out;
}

Result<MeasuredRow> read_row(const CsvTable& table, size_t row) {
  MeasuredRow out;
  JobFeatures& job = out.job;
  job.model = table.text(row, "model");
  job.family = table.text(row, "family");
  job.task = table.text(row, "task");
  job.gpu = table.text(row, "gpu");
  if (job.model.empty()) return table.error(row, "model: empty");
  if (job.gpu.empty()) return table.error(row, "gpu: empty");
  Result<Precision> precision = parse_precision(table.text(row, "precision"));
  if (!precision) {
    return table.error(row, "precision: " + precision.error().message);
  }
  job.precision = *precision;
  if (Status status = read_counts(table, row, job); !status) {
    return std::move(status).error();
  }
  for (const NumberColumn& column : kNumbers) {
    Result<double> value = table.number(row, column.name, 0, column.high, 0);
    if (!value) return std::move(value).error();
    job.*column.field = *value;
  }
  Result<double> rate =
      table.number(row, "samples_per_s_total", 1e-9, kMaxRate, 0);
  if (!rate) return std::move(rate).error();
  if (*rate == 0) return table.error(row, "samples_per_s_total: empty");
  out.samples_per_s = *rate;

  const std::string& note = table.text(row, "note");
  job.software = software_of_note(note);
  job.unit = unit_of_note(note);
  std::string same = table.text(row, "source");
  for (const char* column : {"model", "gpu", "precision", "image_size"}) {
    same += "|" + table.text(row, column);
  }
  same += "|" + lasting_note(note);
  out.same_but_scale = same;
  out.same_but_batch =
      same + "|" + table.text(row, "gpus") + "|" + table.text(row, "nodes");
  return out;
}

}  // namespace

Software software_of_note(std::string_view note) {
  const std::string text = lower_case(note);
  const auto holds = [&](const char* part) {
    return text.find(part) != text.npos;
  };
  Software it;
  if (holds("tensorflow") || holds("tf_cnn")) it.framework = "tensorflow";
  if (holds("mxnet")) it.framework = "mxnet";
  if (holds("paddle")) it.framework = "paddle";
  if (holds("layout=nchw")) it.layout = "nchw";
  if (holds("layout=nhwc")) it.layout = "nhwc";
  it.compiled = holds("xla=1") || holds("; xla;") || text.ends_with("; xla");
  it.container = holds("ngc ");
  it.synthetic = holds("synthetic");
  it.real_data = holds("real data") || holds("real input");
  it.no_optimizer = holds("no optimizer step") || holds("fwd+bwd only");
  it.data_parallel = holds("dataparallel");
  return it;
}

Result<std::vector<MeasuredRow>> parse_measured_rows(std::string_view text,
                                                     const std::string& name) {
  Result<CsvTable> table = CsvTable::parse(text, name);
  if (!table) return std::move(table).error();
  if (Status status =
          table->require({"source", "model", "family", "task", "gpu", "gpus",
                          "nodes", "precision", "batch_per_gpu", "image_size",
                          "params_m", "fwd_gflops_per_sample", "activations_m",
                          "samples_per_s_total", "note"});
      !status) {
    return std::move(status).error();
  }
  std::vector<MeasuredRow> rows;
  rows.reserve(table->rows());
  for (size_t i = 0; i < table->rows(); ++i) {
    Result<MeasuredRow> row = read_row(*table, i);
    if (!row) return std::move(row).error();
    rows.push_back(*std::move(row));
  }
  if (rows.empty()) return invalid(name + ": no rows");
  return rows;
}

}  // namespace penstock
