// One layer over the ranks of an MPI program, ready to be exchanged over and
// over.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/result.h"
#include "exchange/bench/gradient_stream.h"
#include "exchange/context/context.h"

namespace penstock::exchange {

// A residual and a threshold as after many steps: the same for all ways to
// exchange a layer with some density.
struct WarmLayer {
  Context::LayerState state;
  size_t elements = 0;
  double density = 0;
};
WarmLayer warm_layer(const GradientStream& stream, size_t elements,
                     double density);

const char* method_name(Method method);  // "dense", "allgather", "two_phase"

// What a training step does with sums at the least: adds sparse ones to weights
// and leaves dense ones where a plain MPI_Allreduce leaves them.
class LeastUpdate : public Update {
 public:
  explicit LeastUpdate(size_t elements) : weights_(elements) {}
  void add_sparse(const SparseView& sums) override;
  void add_dense(std::span<const float>) override {}

 private:
  std::vector<float> weights_;
};

class LayerExchange {
 public:
  // method: empty leaves the choice to the costs. All ranks must call it.
  // Errors: Context's and mpi_transport()'s
  [[nodiscard]] static Result<std::unique_ptr<LayerExchange>> create(
      const WarmLayer& layer, std::optional<Method> method,
      const ExchangeCosts& costs);

  // Errors: Context's
  [[nodiscard]] Status exchange(std::span<float> gradient);

  // The one that was chosen.
  Method method() const { return context_.layer_stats(0).method; }

 private:
  LayerExchange(std::unique_ptr<Transport> transport,
                const ContextOptions& options, size_t elements)
      : context_(std::move(transport), options), update_(elements) {}

  Context context_;
  LeastUpdate update_;
};

}  // namespace penstock::exchange
