// `penstock bench cache`: the node's cache of samples beside the page cache.
#pragma once

#include <string>

#include "common/result.h"
#include "tools/penstock/command.h"

namespace penstock {

struct BenchCacheArguments {
  int rounds = 5;  // epochs, or pairs of runs, of each figure
};

// Measures what epochs read with caches of 25, 50 and 75%, and with one of 65%
// on slow storage how long they take beside PyTorch's. json_file: "" for none.
// Needs the source tree, root, cgroup v1's memory controller, nbdkit and
// python3-torch.
// Errors: those of run_bench_script()
[[nodiscard]] Status run_bench_cache(const BenchCacheArguments& arguments,
                                     const std::string& json_file,
                                     Terminal& terminal);

}  // namespace penstock
