// Benchmarks that are Python packages of the source tree, below tools/.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"
#include "tools/penstock/command.h"

namespace penstock {

struct BenchScript {
  std::string name;                    // "analyze", of `penstock bench analyze`
  std::string package;                 // of tools/; it prints figures as JSON
  std::vector<std::string> arguments;  // behind the build directory
};

// Runs it, prints its figures as a table, and writes them to json_file unless
// that is "". Interrupted, it waits until the script has removed what it made.
// Errors: kUnavailable  it did not come to its end: it has said why; figures
//                       that it has printed nevertheless are shown and written
//         kNotFound, kPermissionDenied  no sources, as where Penstock was
//                                       installed from a package
//         kIo  its figures, or json_file
[[nodiscard]] Status run_bench_script(const BenchScript& script,
                                      const std::string& json_file,
                                      Terminal& terminal);

// What a script has left.
struct ScriptEnd {
  std::string output;     // its figures, or nothing
  bool is_whole = false;  // it has measured all
};

// The second half of run_bench_script(), with its errors.
[[nodiscard]] Status show_figures(const BenchScript& script,
                                  const ScriptEnd& end,
                                  const std::string& json_file,
                                  Terminal& terminal);

}  // namespace penstock
