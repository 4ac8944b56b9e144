// What each benchmark ends with: its figures as a table, and in a JSON file.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"
#include "tools/penstock/bench_figures.h"
#include "tools/penstock/command.h"

namespace penstock {

// Prints the machine and the figures of `penstock bench NAME`, and writes both
// to json_file unless that is "".
// Errors: write_text()'s
[[nodiscard]] Status publish_figures(const std::string& name,
                                     const std::vector<BenchFigure>& figures,
                                     const std::string& json_file,
                                     Terminal& terminal);

}  // namespace penstock
