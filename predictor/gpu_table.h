// Table of GPU types with their peak rates. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "predictor/job_features.h"

namespace penstock {

// A number that is 0 is unknown.
struct GpuType {
  std::string name;
  std::string architecture;  // "ampere", ...; "": unknown
  double fp32_tflops = 0;
  double tf32_tflops = 0;  // on tensor units
  double half_tflops = 0;
  double memory_gbs = 0;
  double memory_gb = 0;
  double nvlink_gbs = 0;  // both directions
  double pcie_gbs = 0;    // both directions
  std::string source;

  // Peak rate of dense multiplication at this precision; FP32's if the table
  // has no other.
  double peak_tflops(Precision precision) const;
  // Whether the GPU has tensor units for this precision.
  bool tensor_units(Precision precision) const;
};

// The built-in table, in the order of predictor/data/gpus.csv.
const std::vector<GpuType>& gpu_types();

// Finds a type by name; ignores case, '-', '_' and blanks. A name without the
// suffix after a '-' ("a100", as in a GRES) gives the first such type. An
// unknown name gives the table's median type under this name, with known false.
struct GpuLookup {
  GpuType type;
  bool known = false;
};
GpuLookup find_gpu(std::string_view name);

// Key for comparing names: lower case, without '-', '_' and blanks.
std::string plain_name(std::string_view name);

}  // namespace penstock
