// `penstock bench lmdb`: the MPI LMDB reader against stock LMDB.
#pragma once

#include <string>

#include "common/result.h"
#include "tools/penstock/command.h"

namespace penstock {

struct BenchLmdbArguments {
  int rounds = 11;       // pairs of runs per cell
  std::string database;  // "": generated databases
};

// Measures every cell of the table, the six optimisations one by one, runs
// through a slow tier, and fio. json_file: "" for none. Needs the source tree,
// mpirun, fio and FUSE; root for cold runs in limited memory.
// Errors: those of run_bench_script()
[[nodiscard]] Status run_bench_lmdb(const BenchLmdbArguments& arguments,
                                    const std::string& json_file,
                                    Terminal& terminal);

}  // namespace penstock
