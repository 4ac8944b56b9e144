// `penstock bench loader`: Penstock's loader against others.
#pragma once

#include <string>

#include "common/result.h"
#include "tools/penstock/command.h"

namespace penstock {

struct BenchLoaderArguments {
  int rounds = 7;         // each runs every loader once
  std::string peers_dir;  // of tests/peers; "": only Debian's loaders
};

// Measures the installed loaders on generated pictures, and names the missing
// ones on standard error. json_file: "" for none. Needs the source tree.
// Errors: those of run_bench_script()
[[nodiscard]] Status run_bench_loader(const BenchLoaderArguments& arguments,
                                      const std::string& json_file,
                                      Terminal& terminal);

}  // namespace penstock
