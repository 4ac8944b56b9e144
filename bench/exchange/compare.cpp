#include "bench/exchange/compare.h"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "bench/exchange/layer_exchange.h"
#include "bench/exchange/slowest.h"

namespace penstock::exchange {
namespace {

Status plain_allreduce(std::span<float> gradient) {
  const int code =
      MPI_Allreduce(MPI_IN_PLACE, gradient.data(), int(gradient.size()),
                    MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  if (code != MPI_SUCCESS) return Error{Code::kIo, 0, "MPI_Allreduce failed"};
  return Done{};
}

constexpr size_t kWays = 4;
constexpr std::array<const char*, kWays> kNames = {"dense", "allgather",
                                                   "two_phase", "auto"};

class Comparison {
 public:
  Comparison(const RanksOptions& options, int rank, double density)
      : options_(options),
        rank_(rank),
        density_(density),
        stream_(rank),
        gradient_(options.elements),
        work_(options.elements) {}

  Status run() {
    const WarmLayer layer = warm_layer(stream_, options_.elements, density_);
    const std::array<std::optional<Method>, kWays - 1> methods = {
        Method::kAllgather, Method::kTwoPhase, std::nullopt};
    for (size_t i = 0; i < methods.size(); ++i) {
      auto made = LayerExchange::create(layer, methods[i], options_.costs);
      if (!made) return std::move(made).error();
      exchanges_[i] = *std::move(made);
    }
    // Round -1, which faults the memory in, is not printed.
    for (int round = -1; round < options_.rounds; ++round) {
      stream_.fill(uint32_t(layer.state.steps) + uint32_t(round + 1),
                   gradient_);
      if (Status done = run_round(round); !done) return done;
    }
    return Done{};
  }

 private:
  Status run_round(int round) {
    std::array<double, kWays> took_s{};
    for (size_t turn = 0; turn < kWays; ++turn) {
      const size_t way = (turn + size_t(round + 1)) % kWays;
      std::copy(gradient_.begin(), gradient_.end(), work_.begin());
      const Result<double> took = slowest_s([&] {
        return way == 0 ? plain_allreduce(work_)
                        : exchanges_[way - 1]->exchange(work_);
      });
      if (!took) return took.error();
      took_s[way] = *took;
    }
    if (rank_ == 0 && round >= 0) print(round, took_s);
    return Done{};
  }

  void print(int round, const std::array<double, kWays>& took_s) const {
    std::string line =
        fmt::format("{{\"density\": {}, \"round\": {}", density_, round);
    for (size_t way = 0; way < kWays; ++way) {
      line += fmt::format(", \"{}_s\": {}", kNames[way], took_s[way]);
    }
    const auto chosen = size_t(exchanges_.back()->method());
    fmt::print("{}, \"auto\": \"{}\"}}\n", line, kNames[chosen]);
    std::fflush(stdout);
  }

  const RanksOptions& options_;
  int rank_;
  double density_;
  GradientStream stream_;
  std::vector<float> gradient_, work_;
  std::array<std::unique_ptr<LayerExchange>, kWays - 1> exchanges_;
};

}  // namespace

Status compare_methods(const RanksOptions& options) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (const double density : options.densities) {
    Comparison comparison(options, rank, density);
    if (Status done = comparison.run(); !done) return done;
  }
  return Done{};
}

}  // namespace penstock::exchange
