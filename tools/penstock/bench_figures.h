// Figures of a benchmark, as a table and as the JSON that all of Penstock's
// benchmarks share: {"bench", "machine", "figures": [{"name", "value", "unit",
// "spread", "runs"}]}.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"

namespace penstock {

struct BenchFigure {
  std::string name;
  double value = 0;  // the median of the runs
  std::string unit;
  double spread = 0;  // between the quartiles, in the same unit
  size_t runs = 0;
};

// REQUIRES: runs is not empty.
BenchFigure summarise(std::string name, std::string unit,
                      std::vector<double> runs);

std::string figures_table(const std::vector<BenchFigure>& figures);
std::string figures_json(const std::string& bench, const std::string& machine,
                         const std::vector<BenchFigure>& figures);

// "12th Gen Intel(R) ..., 8 CPUs, Linux 6.1.0": this machine.
std::string machine_text();

// Errors: kPermissionDenied, kNotFound, kIo  name the path
[[nodiscard]] Status write_text(const std::string& path,
                                const std::string& text);

}  // namespace penstock
