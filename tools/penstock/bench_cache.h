// `penstock bench cache`: the node's sample cache against the page cache, and
// the shared caches of several nodes against separate ones.
#pragma once

#include <string>

#include "common/result.h"
#include "tools/penstock/command.h"

namespace penstock {

struct BenchCacheArguments {
  int rounds = 5;  // epochs, or pairs of runs, per figure
};

// Measures bytes read per epoch with caches of 25, 50 and 75%. Measures epoch
// times on slow storage with a cache of 65%, against PyTorch's loader. Then
// measures epoch times and bytes read of two and four nodes with slow disks.
// json_file: "" for none. Needs the source tree, root, cgroup v1's memory and
// blkio controllers, nbdkit, Slurm and python3-torch.
// Errors: those of run_bench_script()
[[nodiscard]] Status run_bench_cache(const BenchCacheArguments& arguments,
                                     const std::string& json_file,
                                     Terminal& terminal);

}  // namespace penstock
