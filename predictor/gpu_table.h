// GPU types and what they can do at most. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "predictor/job_features.h"

namespace penstock {

// Figures that are 0 are not known.
struct GpuType {
  std::string name;
  std::string architecture;  // "ampere", ...; "": not known
  double fp32_tflops = 0;
  double tf32_tflops = 0;  // on tensor units
  double half_tflops = 0;
  double memory_gbs = 0;
  double memory_gb = 0;
  double nvlink_gbs = 0;  // both directions
  double pcie_gbs = 0;    // both directions
  std::string source;

  // Peak of dense multiplication at that precision, FP32's where the GPU has
  // no other. tensor_units: whether it has tensor units for it.
  double peak_tflops(Precision precision) const;
  bool tensor_units(Precision precision) const;
};

// The built-in table (predictor/data/gpus.csv), in its order.
const std::vector<GpuType>& gpu_types();

// The type of that name; case, '-', '_' and blanks do not count. A name that
// lacks the end of one ("a100", as in a gres) is the first such type. Without
// one: the median type of the table under this name, with known false.
struct GpuLookup {
  GpuType type;
  bool known = false;
};
GpuLookup find_gpu(std::string_view name);

// Lower case, without '-', '_', and blanks: how names are compared.
std::string plain_name(std::string_view name);

}  // namespace penstock
