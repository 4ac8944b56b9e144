// `penstock bench analyze`: compares `analyze` and `what-if` with real runs.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"
#include "tools/penstock/command.h"

namespace penstock {

struct BenchAnalyzeArguments {
  std::vector<std::string> jobs = {"transformer", "res50",   "mobilenet",
                                   "alexnet",     "records", "pytorch"};
  int rounds = 3;      // of real runs
  int budget_s = 120;  // of each analysis
};

// Starts a Slurm and a pool of limited bandwidth, and runs and analyses the
// jobs there. json_file: "" for none. Needs root, Debian's Slurm, nbdkit, and
// the source tree.
// Errors: those of run_bench_script()
[[nodiscard]] Status run_bench_analyze(const BenchAnalyzeArguments& arguments,
                                       const std::string& json_file,
                                       Terminal& terminal);

}  // namespace penstock
