// `penstock bench staging`: jobs that prepare their batches together.
#pragma once

#include <string>

#include "common/result.h"
#include "tools/penstock/command.h"

namespace penstock {

struct BenchStagingArguments {
  int rounds = 5;
};

// Measures 2, 4 and 8 jobs that share beside as many independent ones, and
// beside PyTorch's. json_file: "" for none. Needs the source tree and
// python3-torchvision.
// Errors: those of run_bench_script()
[[nodiscard]] Status run_bench_staging(const BenchStagingArguments& arguments,
                                       const std::string& json_file,
                                       Terminal& terminal);

}  // namespace penstock
