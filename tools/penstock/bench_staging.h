// `penstock bench staging`: jobs that share prepared batches.
#pragma once

#include <string>

#include "common/result.h"
#include "tools/penstock/command.h"

namespace penstock {

struct BenchStagingArguments {
  int rounds = 5;
};

// Compares 2, 4 and 8 sharing jobs with as many independent ones, and with
// PyTorch's loader. json_file: "" for none. Needs the source tree and
// python3-torchvision.
// Errors: those of run_bench_script()
[[nodiscard]] Status run_bench_staging(const BenchStagingArguments& arguments,
                                       const std::string& json_file,
                                       Terminal& terminal);

}  // namespace penstock
