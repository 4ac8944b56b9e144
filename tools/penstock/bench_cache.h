// `penstock bench cache`: the node's cache of samples beside the page cache,
// and nodes' caches together beside each alone.
#pragma once

#include <string>

#include "common/result.h"
#include "tools/penstock/command.h"

namespace penstock {

struct BenchCacheArguments {
  int rounds = 5;  // epochs, or pairs of runs, of each figure
};

// Measures what epochs read with caches of 25, 50 and 75%, and with one of 65%
// on slow storage how long they take beside PyTorch's; then how long epochs of
// two and four nodes with slow disks take, and what they read. json_file: ""
// for none. Needs the source tree, root, cgroup v1's memory and blkio
// controllers, nbdkit, Slurm and python3-torch.
// Errors: those of run_bench_script()
[[nodiscard]] Status run_bench_cache(const BenchCacheArguments& arguments,
                                     const std::string& json_file,
                                     Terminal& terminal);

}  // namespace penstock
