// `penstock bench loader`: Penstock's loader beside others.
#pragma once

#include <string>

#include "common/result.h"
#include "tools/penstock/command.h"

namespace penstock {

struct BenchLoaderArguments {
  int rounds = 7;         // in which each loader runs once
  std::string peers_dir;  // of tests/peers; "": only those that Debian has
};

// Measures the loaders that are here on pictures that it makes, and says on
// standard error which are not. json_file: "" for none. Needs the source tree.
// Errors: those of run_bench_script()
[[nodiscard]] Status run_bench_loader(const BenchLoaderArguments& arguments,
                                      const std::string& json_file,
                                      Terminal& terminal);

}  // namespace penstock
