// One layer of an MPI program, for repeated exchanges.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bench/exchange/gradient_stream.h"
#include "common/result.h"
#include "exchange/context/context.h"

namespace penstock::exchange {

// The residual and the threshold after many steps: the same for all methods at
// one density.
struct WarmLayer {
  LayerState state;
  size_t elements = 0;
  double density = 0;
};
WarmLayer warm_layer(const GradientStream& stream, size_t elements,
                     double density);

// The least that a training step does with sums: subtracts sparse ones from
// weights, and leaves dense ones in place, as MPI_Allreduce does.
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
  // Collective. method: empty: the costs choose.
  // Errors: Context's and mpi_transport()'s
  [[nodiscard]] static Result<std::unique_ptr<LayerExchange>> create(
      const WarmLayer& layer, std::optional<Method> method,
      const ExchangeCosts& costs);

  // Errors: Context's
  [[nodiscard]] Status exchange(std::span<float> gradient);

  // The method in use.
  Method method() const { return context_.layer_stats(0).method; }

 private:
  LayerExchange(std::unique_ptr<Transport> transport,
                const ContextOptions& options, size_t elements)
      : context_(std::move(transport), options), update_(elements) {}

  Context context_;
  LeastUpdate update_;
};

}  // namespace penstock::exchange
