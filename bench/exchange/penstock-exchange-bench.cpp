// Times exchanges between the ranks of an MPI program:
//   mpirun ... penstock-exchange-bench calibrate | compare | step ...
// `penstock bench exchange` runs it.
#include <mpi.h>

#include <cstdio>
#include <exception>

#include "bench/exchange/calibrate.h"
#include "bench/exchange/compare.h"
#include "bench/exchange/ranks_options.h"
#include "bench/exchange/training_step.h"

namespace penstock::exchange {
namespace {

Status run(const RanksOptions& options) {
  switch (options.command) {
    case RanksCommand::kCalibrate:
      return calibrate(options);
    case RanksCommand::kCompare:
      return compare_methods(options);
    case RanksCommand::kStep:
      return time_steps(options);
  }
  return Done{};
}

// calibrate and compare use one thread, so they avoid the cost of MPI's locks.
int thread_level(const RanksOptions& options) {
  return options.command == RanksCommand::kStep ? MPI_THREAD_MULTIPLE
                                                : MPI_THREAD_SINGLE;
}

// Aborts: MPI_Finalize() would wait for ranks that wait for this one.
int failed(const char* why) {
  std::fprintf(stderr, "penstock-exchange-bench: %s\n", why);
  std::fflush(nullptr);
  int is_initialised = 0;
  MPI_Initialized(&is_initialised);
  if (is_initialised) MPI_Abort(MPI_COMM_WORLD, 1);
  return 1;
}

}  // namespace
}  // namespace penstock::exchange

int main(int argc, char** argv) {
  using namespace penstock::exchange;
  try {
    const auto options = parse_ranks_options(argc, argv);
    if (!options) return failed(options.error().message.c_str());
    if (!*options) return 0;
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(nullptr, nullptr, thread_level(**options), &provided);
    const penstock::Status done = run(**options);
    if (!done) return failed(done.error().message.c_str());
  } catch (const std::exception& error) {
    return failed(error.what());
  }
  MPI_Finalize();
  return 0;
}
