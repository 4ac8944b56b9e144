// Exchanges over the ranks of an MPI program, timed:
//   mpirun ... penstock-exchange-bench calibrate | compare ...
// `penstock bench exchange` runs it.
#include <mpi.h>

#include <cstdio>
#include <exception>

#include "exchange/bench/calibrate.h"
#include "exchange/bench/compare.h"
#include "exchange/bench/ranks_options.h"

namespace penstock::exchange {
namespace {

Status run(int argc, char** argv) {
  const Result<std::optional<RanksOptions>> options =
      parse_ranks_options(argc, argv);
  if (!options) return options.error();
  if (!options->has_value()) return Done{};
  return (*options)->calibrates ? calibrate(**options)
                                : compare_methods(**options);
}

// Other ranks may wait for this one: MPI_Finalize() would wait for them.
int failed(const char* why) {
  std::fprintf(stderr, "penstock-exchange-bench: %s\n", why);
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return 1;
}

}  // namespace
}  // namespace penstock::exchange

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    const penstock::Status done = penstock::exchange::run(argc, argv);
    if (!done) return penstock::exchange::failed(done.error().message.c_str());
  } catch (const std::exception& error) {
    return penstock::exchange::failed(error.what());
  }
  MPI_Finalize();
  return 0;
}
