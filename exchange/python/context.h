// Context for Python: takes memory by address, throws errors as exceptions, and
// releases the GIL while it exchanges.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

#include "exchange/context/context.h"
#include "exchange/python/transport.h"
#include "exchange/python/update.h"

namespace penstock::exchange {

class PythonContext {
 public:
  // device: holds gradients and weights; null: CPU memory.
  PythonContext(PythonTransport& transport, ContextOptions options,
                std::shared_ptr<Device> device);

  int add_layer(LayerOptions layer);
  void refuse(const std::string& why) { open().refuse(why); }
  void plan();
  // Context::submit() says how long the memory must stay valid. Keeps a
  // reference to the update. stream: a Device::Stream.
  void submit(int layer, uintptr_t address, size_t count,
              const pybind11::object& update, uintptr_t stream);
  bool keeps_gradient(int layer) { return open().keeps_gradient(layer); }
  bool poll(int layer);
  void wait(int layer);
  void set_densities(const std::vector<double>& densities);
  void fail(const std::string& why);
  ContextStats stats() { return open().stats(); }
  LayerStats layer_stats(int layer) { return open().layer_stats(layer); }
  LayerState layer_state(int layer);
  void set_layer_state(int layer, const LayerState& state);
  // Destroys the context and its thread. Other functions then throw ValueError.
  void close() { context_.reset(); }

 private:
  Context& open() const;
  // The result of call(open()), called without the GIL. Throws its error.
  template <class Call>
  auto without_gil(const Call& call) const;
  // Rethrows an exception of the layer's update.
  void check_update(int layer);

  std::shared_ptr<void> under_;  // must outlive the transport
  std::shared_ptr<Device> device_;
  // The last update of each layer. The context's thread may use it until
  // context_ is destroyed, which comes first.
  std::vector<pybind11::object> updates_;
  std::shared_ptr<Context> context_;
};

}  // namespace penstock::exchange
