#include "bench/exchange/layer_exchange.h"

#include <mpi.h>

#include "bench/exchange/warm_start.h"
#include "exchange/transport/mpi_transport.h"

namespace penstock::exchange {

WarmLayer warm_layer(const GradientStream& stream, size_t elements,
                     double density) {
  WarmLayer out{.state = {}, .elements = elements, .density = density};
  out.state.residual.resize(elements);
  const WarmStart warm = warm_start(stream, density, out.state.residual);
  out.state.threshold = warm.threshold;
  out.state.steps = warm.steps;
  out.state.steps_left = ContextOptions().exact_steps;
  return out;
}

void LeastUpdate::add_sparse(const SparseView& sums) {
  for (size_t i = 0; i < sums.indices.size(); ++i) {
    weights_[sums.indices[i]] -= sums.values[i];
  }
}

Result<std::unique_ptr<LayerExchange>> LayerExchange::create(
    const WarmLayer& layer, std::optional<Method> method,
    const ExchangeCosts& costs) {
  auto transport = mpi_transport(MPI_COMM_WORLD);
  if (!transport) return std::move(transport).error();
  ContextOptions options;
  options.costs = costs;
  options.bucket_elements = 0;
  std::unique_ptr<LayerExchange> out(
      new LayerExchange(*std::move(transport), options, layer.elements));
  LayerOptions shape;
  shape.name = "layer";
  shape.elements = layer.elements;
  shape.density = layer.density;
  shape.method = method;
  out->context_.add_layer(shape);
  if (Status planned = out->context_.plan(); !planned) {
    return std::move(planned).error();
  }
  if (out->method() == Method::kDense) return out;  // dense: no state
  if (Status set = out->context_.set_layer_state(0, layer.state); !set) {
    return std::move(set).error();
  }
  return out;
}

Status LayerExchange::exchange(std::span<float> gradient) {
  Status submitted = context_.submit(0, gradient, update_);
  if (!submitted) return submitted;
  return context_.wait(0);
}

}  // namespace penstock::exchange
