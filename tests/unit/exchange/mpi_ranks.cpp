// The tests start this with mpirun: it runs the named case on each rank and
// prints "rank N: ok" or the error. With a second argument contexts have their
// own thread.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>

#include "exchange/context/context.h"
#include "exchange/transport/mpi_transport.h"
#include "tests/unit/exchange/transport_cases.h"

using namespace penstock;
using namespace penstock::exchange;
using namespace penstock::exchange::test;

namespace {

constexpr size_t kElements = 100'000;

// Sums all values of all ranks in a layer of this method.
std::string sums_all(std::unique_ptr<Transport> transport, Method method,
                     bool has_thread) {
  const auto ranks = float(transport->size());
  const auto rank = float(transport->rank());
  Context context(std::move(transport),
                  {.timeout_s = 20, .has_thread = has_thread});
  context.add_layer({.elements = kElements, .density = 1, .method = method});
  if (Status planned = context.plan(); !planned) {
    return planned.error().message;
  }
  for (int step = 0; step < 5; ++step) {
    std::vector<float> gradient(kElements), sums(kElements);
    std::iota(gradient.begin(), gradient.end(), rank + 1);
    AddScaled update(sums, 1);
    Status done = context.submit(0, gradient, update);
    if (done) done = context.wait(0);
    if (!done) return done.error().message;
    for (size_t i = 0; i < kElements; ++i) {
      const float expected = ranks * float(i) + ranks * (ranks + 1) / 2;
      if (sums[i] != expected) {
        return "element " + std::to_string(i) + " is wrong";
      }
    }
  }
  return "";
}

// Rank 1 ends before the others are done; the launcher keeps the others alive.
std::string outlives_a_rank(std::unique_ptr<Transport> transport) {
  const bool dies = transport->rank() == 1;
  Context context(std::move(transport), {.timeout_s = 2});
  context.add_layer(
      {.name = "w", .elements = kElements, .method = Method::kTwoPhase});
  if (Status planned = context.plan(); !planned) {
    return planned.error().message;
  }
  if (dies) std::raise(SIGKILL);
  std::vector<float> gradient(kElements, 1), weights(kElements);
  AddScaled update(weights, 1);
  Status done = context.submit(0, gradient, update);
  if (done) done = context.wait(0);
  std::printf("rank %d: %s\n", context.rank(),
              done ? "done" : done.error().message.c_str());
  std::fflush(stdout);
  std::_Exit(0);  // MPI_Finalize() would wait for the dead one
}

std::string runs_out_of_requests(Transport& transport) {
  transport.reserve(0);
  std::array<int, 1> value{}, all{};
  const auto more = transport.allgather(bytes_of(value), room_of(all));
  return !more && more.error().code == Code::kLimit ? "" : "it was begun";
}

std::string run_case(const std::string& name, bool has_thread) {
  const std::map<std::string, std::function<std::string(Transport&)>> cases = {
      {"messages", messages_arrive},
      {"all", all_have_all},
      {"long", too_long_is_an_error},
      {"nothing", nothing_waits},
      {"room", runs_out_of_requests}};
  const std::map<std::string, Method> methods = {
      {"dense", Method::kDense},
      {"allgather", Method::kAllgather},
      {"two-phase", Method::kTwoPhase}};
  auto transport = mpi_transport(MPI_COMM_WORLD);
  if (!transport) return transport.error().message;
  if (name == "outlive") return outlives_a_rank(std::move(*transport));
  if (const auto method = methods.find(name); method != methods.end()) {
    return sums_all(std::move(*transport), method->second, has_thread);
  }
  (*transport)->reserve(64);
  return cases.at(name)(**transport);
}

int run(const std::string& name, bool has_thread) {
  const auto early = mpi_transport(MPI_COMM_WORLD);
  if (early || early.error().code != Code::kUnavailable) return 3;
  int provided = 0, rank = 0;
  MPI_Init_thread(nullptr, nullptr,
                  has_thread ? MPI_THREAD_SERIALIZED : MPI_THREAD_FUNNELED,
                  &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string wrong = run_case(name, has_thread);
  std::printf("rank %d: %s\n", rank, wrong.empty() ? "ok" : wrong.c_str());
  std::fflush(stdout);
  MPI_Finalize();
  return wrong.empty() ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) try {
  return count == 2 || count == 3 ? run(arguments[1], count == 3) : 2;
} catch (...) {
  return 4;
}
