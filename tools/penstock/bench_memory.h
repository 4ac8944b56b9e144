// `penstock bench memory`: training with less memory.
#pragma once

#include <string>

#include "common/result.h"
#include "tools/penstock/command.h"

namespace penstock {

struct BenchMemoryArguments {
  int rounds = 5;
};

// Trains a convolutional network and a transformer in three ways: plainly, with
// recomputed activations, and by plan. json_file: "" for none. Needs the source
// tree and PyTorch.
// Errors: those of run_bench_script()
[[nodiscard]] Status run_bench_memory(const BenchMemoryArguments& arguments,
                                      const std::string& json_file,
                                      Terminal& terminal);

}  // namespace penstock
