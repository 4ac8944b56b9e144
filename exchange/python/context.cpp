#include "exchange/python/context.h"

#include <utility>

namespace penstock::exchange {

namespace py = pybind11;

namespace {

// Destroys the context without the GIL: its thread may be waiting for the GIL,
// to call an update's function.
std::shared_ptr<Context> shared(std::unique_ptr<Context> context) {
  return {context.release(), [](Context* last) {
            const py::gil_scoped_release others;
            delete last;
          }};
}

}  // namespace

PythonContext::PythonContext(PythonTransport& transport, ContextOptions options,
                             std::shared_ptr<Device> device)
    : under_(transport.under()), device_(std::move(device)) {
  options.device = device_.get();
  options.has_thread = transport.allows_thread() && transport.size() > 1;
  context_ = shared(std::make_unique<Context>(transport.take(), options));
}

Context& PythonContext::open() const {
  if (!context_) throw py::value_error("the exchange is closed");
  return *context_;
}

template <class Call>
auto PythonContext::without_gil(const Call& call) const {
  Context& context = open();
  auto result = [&] {
    const py::gil_scoped_release others;
    return call(context);
  }();
  if (!result) throw_error(result.error());
  return result;
}

int PythonContext::add_layer(LayerOptions layer) {
  updates_.emplace_back(py::none());
  return open().add_layer(std::move(layer));
}

void PythonContext::plan() {
  without_gil([](Context& context) { return context.plan(); });
}

void PythonContext::submit(int layer, uintptr_t address, size_t count,
                           const py::object& update, uintptr_t stream) {
  open();  // throws before an update is kept
  auto& target = update.cast<PythonUpdate&>();
  // Keeps the old update until submit() returns: an exchange may still use it.
  const py::object before =
      std::exchange(updates_.at(static_cast<size_t>(layer)), update);
  without_gil([&](Context& context) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a tensor's data_ptr()
    auto* const gradient = reinterpret_cast<float*>(address);
    return context.submit(layer, {gradient, count}, target,
                          // NOLINTNEXTLINE(performance-no-int-to-ptr): a stream
                          reinterpret_cast<void*>(stream));
  });
}

bool PythonContext::poll(int layer) {
  const bool is_done =
      *without_gil([&](Context& context) { return context.poll(layer); });
  if (is_done) check_update(layer);
  return is_done;
}

void PythonContext::wait(int layer) {
  without_gil([&](Context& context) { return context.wait(layer); });
  check_update(layer);
}

void PythonContext::set_densities(const std::vector<double>& densities) {
  without_gil(
      [&](Context& context) { return context.set_densities(densities); });
}

void PythonContext::fail(const std::string& why) {
  Context& context = open();
  const py::gil_scoped_release others;
  context.fail(why);
}

void PythonContext::check_update(int layer) {
  const py::object& update = updates_.at(static_cast<size_t>(layer));
  if (!update.is_none()) update.cast<PythonUpdate&>().rethrow();
}

LayerState PythonContext::layer_state(int layer) {
  return *without_gil(
      [&](Context& context) { return context.layer_state(layer); });
}

void PythonContext::set_layer_state(int layer, const LayerState& state) {
  without_gil(
      [&](Context& context) { return context.set_layer_state(layer, state); });
}

}  // namespace penstock::exchange
