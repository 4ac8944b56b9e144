#include "bench/exchange/stream_rates.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "bench/exchange/slowest.h"

namespace penstock::exchange {
namespace {

constexpr int kBytes = 64 << 20;

Status checked(int code) {
  if (code != MPI_SUCCESS) return Error{Code::kIo, 0, "MPI_Send failed"};
  return Done{};
}

// The median of three, in bytes per second.
Result<double> rate(const std::function<Status()>& stream) {
  std::array<double, 3> took_s{};
  for (double& one : took_s) {
    const Result<double> took = slowest_s(stream);
    if (!took) return took.error();
    one = *took;
  }
  std::sort(took_s.begin(), took_s.end());
  return kBytes / took_s[1];
}

}  // namespace

Result<StreamRates> stream_rates() {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<char> sent(kBytes), received(kBytes);
  const Result<double> alone = rate([&] {
    if (rank == 0) {
      return checked(
          MPI_Send(sent.data(), kBytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
    }
    if (rank > 1) return checked(MPI_SUCCESS);
    return checked(MPI_Recv(received.data(), kBytes, MPI_BYTE, 0, 0,
                            MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  });
  if (!alone) return alone.error();
  const Result<double> together = rate([&] {
    return checked(MPI_Sendrecv(sent.data(), kBytes, MPI_BYTE,
                                (rank + 1) % ranks, 0, received.data(), kBytes,
                                MPI_BYTE, (rank + ranks - 1) % ranks, 0,
                                MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  });
  if (!together) return together.error();
  return StreamRates{*alone, *together};
}

}  // namespace penstock::exchange
