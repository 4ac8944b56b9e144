#include "predictor/gpu_table.h"

#include <algorithm>

#include "common/units.h"
#include "predictor/csv_table.h"
#include "predictor/data.h"

namespace penstock {
namespace {

struct Column {
  const char* name;
  double GpuType::*field;
};
constexpr Column kColumns[] = {
    {"fp32_tflops", &GpuType::fp32_tflops},
    {"tf32_tflops", &GpuType::tf32_tflops},
    {"half_tflops", &GpuType::half_tflops},
    {"memory_gbs", &GpuType::memory_gbs},
    {"memory_gb", &GpuType::memory_gb},
    {"nvlink_gbs", &GpuType::nvlink_gbs},
    {"pcie_gbs", &GpuType::pcie_gbs},
};

// A larger ratio of half to FP32 rate means tensor units: without them half
// precision is at most twice as fast.
constexpr double kTensorFactor = 2.5;

std::vector<GpuType> read_types() {
  std::vector<GpuType> types;
  Result<CsvTable> table = CsvTable::parse(data::kGpus, "gpus.csv");
  if (!table) return types;
  for (size_t i = 0; i < table->rows(); ++i) {
    GpuType type;
    type.name = table->text(i, "gpu");
    type.architecture = table->text(i, "architecture");
    type.source = table->text(i, "source");
    for (const Column& column : kColumns) {
      type.*column.field = table->number(i, column.name, 0, 1e6, 0).value_or(0);
    }
    types.push_back(std::move(type));
  }
  return types;
}

// Each number is the median of the table's known ones.
GpuType median_type() {
  GpuType out;
  for (const Column& column : kColumns) {
    std::vector<double> known;
    for (const GpuType& type : gpu_types()) {
      if (type.*column.field > 0) known.push_back(type.*column.field);
    }
    if (known.empty()) continue;
    std::nth_element(known.begin(), known.begin() + known.size() / 2,
                     known.end());
    out.*column.field = known[known.size() / 2];
  }
  return out;
}

}  // namespace

double GpuType::peak_tflops(Precision precision) const {
  if (precision == Precision::kTf32 && tf32_tflops > 0) return tf32_tflops;
  if (precision == Precision::kHalf && half_tflops > 0) return half_tflops;
  return fp32_tflops;
}

bool GpuType::tensor_units(Precision precision) const {
  if (precision == Precision::kTf32) return tf32_tflops > 0;
  if (precision == Precision::kFp32) return false;
  return half_tflops > kTensorFactor * fp32_tflops || tf32_tflops > 0;
}

const std::vector<GpuType>& gpu_types() {
  static const std::vector<GpuType> types = read_types();
  return types;
}

std::string plain_name(std::string_view name) {
  std::string out = lower_case(name);
  std::erase_if(out, [](char c) { return c == '-' || c == '_' || c == ' '; });
  return out;
}

GpuLookup find_gpu(std::string_view name) {
  const std::string wanted = plain_name(name);
  for (const GpuType& type : gpu_types()) {
    if (plain_name(type.name) == wanted) return {type, true};
  }
  for (const GpuType& type : gpu_types()) {
    const size_t length = name.size();
    if (type.name.size() > length && type.name[length] == '-' &&
        plain_name(type.name.substr(0, length)) == wanted) {
      return {type, true};
    }
  }
  static const GpuType median = median_type();
  GpuLookup out{median, false};
  out.type.name = name;
  return out;
}

}  // namespace penstock
