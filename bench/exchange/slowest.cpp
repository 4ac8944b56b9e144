#include "bench/exchange/slowest.h"

#include <mpi.h>

namespace penstock::exchange {

Result<double> slowest_s(const std::function<Status()>& work) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin_s = MPI_Wtime();
  const Status done = work();
  double took_s = MPI_Wtime() - begin_s;
  if (!done) return done.error();
  MPI_Allreduce(MPI_IN_PLACE, &took_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return took_s;
}

}  // namespace penstock::exchange
