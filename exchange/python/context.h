// A Context for Python: layers' memory by address, errors as exceptions, and
// no GIL while it works.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

#include "exchange/python/transport.h"
#include "exchange/python/update.h"

namespace penstock::exchange {

class PythonContext {
 public:
  // device: where gradients and weights are; none: the CPU's memory.
  PythonContext(PythonTransport& transport, ContextOptions options,
                std::shared_ptr<Device> device);

  int add_layer(LayerOptions layer);
  void refuse(const std::string& why) { open().refuse(why); }
  void plan();
  // The memory must stay as Context::submit() says; the update is kept.
  // stream: Device's.
  void submit(int layer, uintptr_t address, size_t count,
              const pybind11::object& update, uintptr_t stream);
  bool keeps_gradient(int layer) { return open().keeps_gradient(layer); }
  bool poll(int layer);
  void wait(int layer);
  void set_densities(const std::vector<double>& densities);
  void fail(const std::string& why);
  ContextStats stats() { return open().stats(); }
  LayerStats layer_stats(int layer) { return open().layer_stats(layer); }
  Context::LayerState layer_state(int layer);
  void set_layer_state(int layer, const Context::LayerState& state);
  // Ends it, with its thread; everything else throws ValueError then.
  void close() { context_.reset(); }

 private:
  Context& open() const;
  // Throws what the layer's update could not do.
  void check_update(int layer);

  std::shared_ptr<void> under_;  // the transport's
  std::shared_ptr<Device> device_;
  // Of each layer, the last; its thread may be at one to the end.
  std::vector<pybind11::object> updates_;
  std::shared_ptr<Context> context_;
};

}  // namespace penstock::exchange
