#include "bench/exchange/training_step.h"

#include <fmt/format.h>
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "bench/exchange/layer_exchange.h"
#include "bench/exchange/slowest.h"
#include "exchange/transport/mpi_transport.h"

namespace penstock::exchange {
namespace {

constexpr double kForwardShare = 1.0 / 3;  // as in predictor/step_time.cpp

void compute(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

ContextOptions context_options(const RanksOptions& options) {
  ContextOptions out;
  out.costs = options.costs;
  out.bucket_elements = 0;
  out.has_thread = true;
  return out;
}

class Training {
 public:
  Training(const RanksOptions& options, double density, int rank,
           std::unique_ptr<Transport> transport)
      : options_(options),
        density_(density),
        stream_(rank),
        gradients_(size_t(options.layers),
                   std::vector<float>(options.elements)),
        updates_(size_t(options.layers), LeastUpdate(options.elements)),
        context_(std::move(transport), context_options(options)) {}

  Status run() {
    WarmLayer warm = warm_layer(stream_, options_.elements, density_);
    if (Status planned = plan(warm); !planned) return planned;
    // Round -1, which faults the memory in, is not printed.
    for (int round = -1; round < options_.rounds; ++round) {
      const uint32_t step = uint32_t(warm.state.steps) + uint32_t(round + 1);
      for (std::vector<float>& one : gradients_) stream_.fill(step, one);
      const Result<double> took = slowest_s([&] { return train(); });
      if (!took) return took.error();
      if (context_.rank() == 0 && round >= 0) print(round, *took);
    }
    return Done{};
  }

 private:
  Status plan(const WarmLayer& warm) {
    for (int layer = 0; layer < options_.layers; ++layer) {
      LayerOptions shape;
      shape.name = fmt::format("layer {}", layer);
      shape.elements = options_.elements;
      shape.density = density_;
      if (density_ == 1) shape.method = Method::kDense;
      context_.add_layer(shape);
    }
    if (Status planned = context_.plan(); !planned) return planned;
    for (int layer = 0; layer < options_.layers; ++layer) {
      if (context_.layer_stats(layer).method == Method::kDense) continue;
      Status set = context_.set_layer_state(layer, warm.state);
      if (!set) return set;
    }
    return Done{};
  }

  Status train() {
    const double forward_s = options_.compute_s * kForwardShare;
    const double backward_s = options_.compute_s - forward_s;
    compute(forward_s);
    for (size_t layer = 0; layer < gradients_.size(); ++layer) {
      compute(backward_s / double(gradients_.size()));
      Status submitted =
          context_.submit(int(layer), gradients_[layer], updates_[layer]);
      if (!submitted) return submitted;
    }
    for (int layer = 0; layer < options_.layers; ++layer) {
      if (Status done = context_.wait(layer); !done) return done;
    }
    return Done{};
  }

  void print(int round, double step_s) const {
    fmt::print(
        "{{\"density\": {}, \"round\": {}, \"step_s\": {}, \"method\": "
        "\"{}\"}}\n",
        density_, round, step_s, method_name(context_.layer_stats(0).method));
    std::fflush(stdout);
  }

  const RanksOptions& options_;
  double density_;
  GradientStream stream_;
  std::vector<std::vector<float>> gradients_;
  std::vector<LeastUpdate> updates_;
  Context context_;  // last, so destroyed first: its thread uses the others
};

}  // namespace

Status time_steps(const RanksOptions& options) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_MULTIPLE) {
    return Error{Code::kUnavailable, 0, "MPI has no MPI_THREAD_MULTIPLE"};
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (const double density : options.densities) {
    auto transport = mpi_transport(MPI_COMM_WORLD);
    if (!transport) return std::move(transport).error();
    Training training(options, density, rank, *std::move(transport));
    if (Status done = training.run(); !done) return done;
  }
  return Done{};
}

}  // namespace penstock::exchange
