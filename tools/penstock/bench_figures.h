// A benchmark's figures, as a table and in the JSON form shared by all of
// Penstock's benchmarks: {"bench", "machine", "figures": [{"name", "value",
// "unit", "spread", "runs"}]}.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"

namespace penstock {

struct BenchFigure {
  std::string name;
  double value = 0;  // the median of the runs
  std::string unit;
  double spread = 0;  // interquartile range, in the same unit
  size_t runs = 0;
};

// A figure without a spread.
BenchFigure single(std::string name, std::string unit, double value,
                   size_t runs = 1);
// REQUIRES: runs is not empty.
BenchFigure summarise(std::string name, std::string unit,
                      std::vector<double> runs);

std::string figures_table(const std::vector<BenchFigure>& figures);
std::string figures_json(const std::string& bench, const std::string& machine,
                         const std::vector<BenchFigure>& figures);

// This machine, as "12th Gen Intel(R) ..., 8 CPUs, Linux 6.1.0".
std::string machine_text();

// Errors: kPermissionDenied, kNotFound, kIo  name the path
[[nodiscard]] Status write_text(const std::string& path,
                                const std::string& text);

}  // namespace penstock
