#include "bench/exchange/calibrate.h"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "bench/exchange/layer_exchange.h"
#include "bench/exchange/slowest.h"
#include "bench/exchange/stream_rates.h"
#include "exchange/plan/fit_costs.h"

namespace penstock::exchange {
namespace {

constexpr int kMostRounds = 5;
constexpr int kLeastRounds = 3;
constexpr double kEnough_s = 4;
constexpr int kSizeShifts[] = {6, 3, 0};  // 1/64, 1/8, all of the elements

constexpr Method kMethods[] = {Method::kDense, Method::kAllgather,
                               Method::kTwoPhase};

// A method's shortest time: disturbances only add to it.
struct Timed {
  Method method = Method::kDense;
  std::unique_ptr<LayerExchange> exchange;
  double least_s = std::numeric_limits<double>::infinity();
};

class Calibration {
 public:
  Calibration(int rank, int ranks) : ranks_(ranks), stream_(rank) {}

  // Times all methods by turns. The dense sum does not depend on the density,
  // so one density of a layer includes it.
  Status measure(size_t elements, double density, bool with_dense) {
    const WarmLayer layer = warm_layer(stream_, elements, density);
    std::vector<Timed> methods;
    for (const Method method : kMethods) {
      if (method == Method::kDense && !with_dense) continue;
      auto exchange = LayerExchange::create(layer, method, {});
      if (!exchange) return std::move(exchange).error();
      methods.push_back({.method = method, .exchange = *std::move(exchange)});
    }
    Status timed = time(methods, uint32_t(layer.state.steps), elements);
    if (!timed) return timed;
    for (const Timed& one : methods) {
      measured_.push_back(
          {one.method, {elements, ranks_, density}, one.least_s});
    }
    return Done{};
  }

  const std::vector<MeasuredExchange>& measured() const { return measured_; }

 private:
  // The first round, which faults the memory in, is left out.
  Status time(std::vector<Timed>& methods, uint32_t step, size_t elements) {
    std::vector<float> gradient(elements), work(elements);
    double sum_s = 0;
    for (int round = 0; round < kMostRounds; ++round) {
      if (round >= kLeastRounds && sum_s > kEnough_s) break;
      stream_.fill(step + uint32_t(round), gradient);
      for (Timed& one : methods) {
        std::copy(gradient.begin(), gradient.end(), work.begin());
        const Result<double> took =
            slowest_s([&] { return one.exchange->exchange(work); });
        if (!took) return took.error();
        sum_s += *took;
        if (round > 0) one.least_s = std::min(one.least_s, *took);
      }
    }
    return Done{};
  }

  int ranks_;
  GradientStream stream_;
  std::vector<MeasuredExchange> measured_;
};

nlohmann::json rows_json(const std::vector<MeasuredExchange>& measured,
                         const ExchangeCosts& costs) {
  nlohmann::json rows = nlohmann::json::array();
  for (const MeasuredExchange& one : measured) {
    rows.push_back({{"method", method_name(one.method)},
                    {"elements", one.size.elements},
                    {"density", one.size.density},
                    {"seconds", one.seconds},
                    {"model_s", exchange_s(one.method, one.size, costs)}});
  }
  return rows;
}

void print(const std::vector<MeasuredExchange>& measured, int ranks,
           const StreamRates& rates) {
  const ExchangeCosts costs = fit_costs(measured);
  const nlohmann::json found = {
      {"message_s", costs.message_s},
      {"byte_s", costs.byte_s},
      {"add_s", costs.add_s},
      {"select_s", costs.select_s},
      {"record_s", costs.record_s},
      {"ranks", ranks},
      {"stream_bytes_per_s", rates.alone_bytes_per_s},
      {"all_streams_bytes_per_s", rates.together_bytes_per_s},
      {"measured", rows_json(measured, costs)}};
  std::puts(found.dump().c_str());
  std::fflush(stdout);
}

}  // namespace

Status calibrate(const RanksOptions& options) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks < 2) {
    return invalid("one rank exchanges nothing: start two or more by mpirun");
  }
  const Result<StreamRates> rates = stream_rates();
  if (!rates) return rates.error();
  Calibration calibration(rank, ranks);
  for (const int shift : kSizeShifts) {
    for (const double density : options.densities) {
      const bool is_first = density == options.densities.front();
      Status measured =
          calibration.measure(options.elements >> shift, density, is_first);
      if (!measured) return measured;
    }
  }
  if (rank == 0) print(calibration.measured(), ranks, *rates);
  return Done{};
}

}  // namespace penstock::exchange
