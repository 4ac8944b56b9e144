// What the tests start with mpirun: runs the case of that name as each rank,
// and prints "rank N: ok", or what went wrong.
#include <cstdio>
#include <functional>
#include <map>
#include <numeric>

#include "exchange/sparse/two_phase.h"
#include "exchange/transport/mpi_transport.h"
#include "tests/unit/exchange/transport_cases.h"

using namespace penstock;
using namespace penstock::exchange;
using namespace penstock::exchange::test;

namespace {

// The sum of what all ranks give, all of it.
std::string sums_in_two_phases(Transport& transport) {
  constexpr size_t kElements = 100'000;
  const TwoPhaseShape shape{kElements, kElements, kElements};
  TwoPhase exchange(transport, {shape});
  std::vector<float> gradient(kElements), residual(kElements);
  std::iota(gradient.begin(), gradient.end(), float(transport.rank() + 1));
  const auto begun = exchange.begin({shape, 0, 0, 0.5f, gradient, residual});
  if (!begun) return begun.error().message;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (;;) {
    const Result<bool> done = exchange.advance();
    if (!done) return done.error().message;
    if (*done) break;
    if (std::chrono::steady_clock::now() > end) return "not done in 20 s";
  }
  const SparseView sums = exchange.sums();
  if (sums.indices.size() != kElements) return "some are missing";
  const auto ranks = float(transport.size());
  for (size_t i = 0; i < kElements; ++i) {
    const float expected = ranks * float(i) + ranks * (ranks + 1) / 2;
    if (sums.indices[i] != i || sums.values[i] != expected) {
      return "element " + std::to_string(i) + " is wrong";
    }
  }
  return "";
}

std::string runs_out_of_requests(Transport& transport) {
  transport.reserve(0);
  std::array<float, 1> value{};
  const auto more = transport.allreduce_sum(value);
  return !more && more.error().code == Code::kLimit ? "" : "it was begun";
}

std::string run_case(const std::string& name) {
  const std::map<std::string, std::function<std::string(Transport&)>> cases = {
      {"messages", messages_arrive},  {"all", all_have_all},
      {"long", too_long_is_an_error}, {"nothing", nothing_waits},
      {"sparse", sums_in_two_phases}, {"room", runs_out_of_requests}};
  auto transport = mpi_transport(MPI_COMM_WORLD);
  if (!transport) return transport.error().message;
  (*transport)->reserve(64);
  return cases.at(name)(**transport);
}

int run(const std::string& name) {
  const auto early = mpi_transport(MPI_COMM_WORLD);
  if (early || early.error().code != Code::kUnavailable) return 3;
  int provided = 0, rank = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string wrong = run_case(name);
  std::printf("rank %d: %s\n", rank, wrong.empty() ? "ok" : wrong.c_str());
  std::fflush(stdout);
  MPI_Finalize();
  return wrong.empty() ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) try {
  return count == 2 ? run(arguments[1]) : 2;
} catch (...) {
  return 4;
}
