// Runs benchmarks that are Python packages beside this file.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"
#include "tools/penstock/command.h"

namespace penstock {

struct BenchScript {
  std::string name;                    // of the package; prints figures as JSON
  std::vector<std::string> arguments;  // after the build directory
};

// Runs the script, prints its figures as a table, and writes them to json_file
// unless that is "". On an interrupt it waits until the script has cleaned up.
// Errors: kUnavailable  the script failed and has printed the reason; figures
//                      that it printed are still shown and written
//         kNotFound, kPermissionDenied  the source tree is gone
//         kIo  malformed figures, or json_file cannot be written
[[nodiscard]] Status run_bench_script(const BenchScript& script,
                                      const std::string& json_file,
                                      Terminal& terminal);

// Result of a script.
struct ScriptEnd {
  std::string output;     // "" or its figures
  bool is_whole = false;  // all figures were measured
};

// The second half of run_bench_script(), with its errors.
[[nodiscard]] Status show_figures(const BenchScript& script,
                                  const ScriptEnd& end,
                                  const std::string& json_file,
                                  Terminal& terminal);

}  // namespace penstock
