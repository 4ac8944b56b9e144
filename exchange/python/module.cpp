// penstock.exchange._native. Its types are described in exchange/_native.pyi.
#include <pybind11/stl.h>

#include "exchange/python/context.h"

namespace penstock::exchange {
namespace {

namespace py = pybind11;
using py::arg;

std::optional<Method> method_of(const std::string& name) {
  if (name == "auto") return std::nullopt;
  for (const Method method :
       {Method::kDense, Method::kAllgather, Method::kTwoPhase}) {
    if (name == method_name(method)) return method;
  }
  throw py::value_error("no method \"" + name +
                        "\": auto, dense, allgather, two_phase");
}

ResidualKind residual_of(const std::string& name) {
  if (name == "float32") return ResidualKind::kFloat32;
  if (name == "bfloat16") return ResidualKind::kBfloat16;
  if (name == "host") return ResidualKind::kHost;
  throw py::value_error("no residual \"" + name +
                        "\": float32, bfloat16, host");
}

std::unique_ptr<PythonContext> open_context(PythonTransport& transport,
                                            const ExchangeCosts& costs,
                                            double timeout_s,
                                            size_t bucket_elements,
                                            std::shared_ptr<Device> device) {
  ContextOptions options;
  options.costs = costs;
  options.timeout_s = timeout_s;
  options.bucket_elements = bucket_elements;
  return std::make_unique<PythonContext>(transport, options, std::move(device));
}

int add_layer(PythonContext& context, const std::string& name, size_t elements,
              double density, const std::string& residual,
              const std::string& method) {
  return context.add_layer(
      {name, elements, density, residual_of(residual), method_of(method)});
}

// The residual as a buffer of floats; not copied.
py::buffer_info residual_buffer(LayerState& state) {
  return {state.residual.data(),
          static_cast<py::ssize_t>(state.residual.size())};
}

LayerState layer_state(uintptr_t address, size_t count, float threshold,
                       uint32_t steps_left, uint64_t steps) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a tensor's data_ptr()
  const auto* const residual = reinterpret_cast<const float*>(address);
  return {{residual, residual + count}, threshold, steps_left, steps};
}

void add_transports(py::module_& module) {
  py::class_<PythonTransport>(module, "Transport")
      .def_property_readonly("rank", &PythonTransport::rank)
      .def_property_readonly("size", &PythonTransport::size)
      .def_property_readonly("allows_thread", &PythonTransport::allows_thread)
      .def("gather", &PythonTransport::gather, arg("mine"), arg("timeout_s"));
  module.def("alone", &alone);
  module.def("thread_ranks", &thread_ranks, arg("ranks"));
}

void add_state(py::module_& module) {
  using State = LayerState;
  py::class_<State>(module, "LayerState", py::buffer_protocol())
      .def(py::init(&layer_state), py::kw_only(), arg("address"), arg("count"),
           arg("threshold"), arg("steps_left"), arg("steps"))
      .def_buffer(&residual_buffer)
      .def("__len__", [](const State& state) { return state.residual.size(); })
      .def_readonly("threshold", &State::threshold)
      .def_readonly("steps_left", &State::steps_left)
      .def_readonly("steps", &State::steps);
}

void add_stats(py::module_& module) {
  py::class_<ContextStats>(module, "Stats")
      .def_readonly("planned_bytes", &ContextStats::planned_bytes)
      .def_readonly("used_bytes", &ContextStats::used_bytes)
      .def_readonly("planned_host_bytes", &ContextStats::planned_host_bytes)
      .def_readonly("used_host_bytes", &ContextStats::used_host_bytes)
      .def_readonly("sent_bytes", &ContextStats::sent_bytes)
      .def_readonly("wait_s", &ContextStats::wait_s);
  py::class_<LayerStats>(module, "LayerStats")
      .def_property_readonly(
          "method",
          [](const LayerStats& stats) { return method_name(stats.method); })
      .def_readonly("is_in_bucket", &LayerStats::is_in_bucket)
      .def_readonly("steps", &LayerStats::steps)
      .def_readonly("threshold", &LayerStats::threshold)
      .def_readonly("taken", &LayerStats::taken)
      .def_readonly("candidates", &LayerStats::candidates)
      .def_readonly("applied", &LayerStats::applied);
}

void add_update(py::module_& module) {
  // Base class only: other modules have implementations.
  // NOLINTNEXTLINE(bugprone-unused-raii)
  py::class_<Device, std::shared_ptr<Device>>(module, "Device");
  using Kind = PythonUpdate::Kind;
  py::class_<PythonUpdate>(module, "Update")
      .def_static(
          "adds",
          [](const std::shared_ptr<Device>& device) {
            return std::make_unique<PythonUpdate>(Kind::kAdd, std::nullopt,
                                                  device);
          },
          arg("device"))
      .def_static(
          "replaces",
          [](const std::shared_ptr<Device>& device,
             const PythonUpdate::Then& then) {
            return std::make_unique<PythonUpdate>(Kind::kReplace, then, device);
          },
          arg("device"), arg("then") = std::nullopt)
      .def("set", &PythonUpdate::set, arg("address"), arg("count"),
           arg("factor"));
}

void add_context(py::module_& module) {
  py::class_<ExchangeCosts>(module, "Costs")
      .def(py::init([](double message_s, double byte_s, double add_s,
                       double select_s, double record_s) {
             return ExchangeCosts{message_s, byte_s, add_s, select_s, record_s};
           }),
           py::kw_only(), arg("message_s"), arg("byte_s"), arg("add_s"),
           arg("select_s"), arg("record_s"));
  py::class_<PythonContext>(module, "Context")
      .def(py::init(&open_context), arg("transport"), py::kw_only(),
           arg("costs"), arg("timeout_s"), arg("bucket_elements"),
           arg("device"))
      .def("add_layer", &add_layer, arg("name"), py::kw_only(), arg("elements"),
           arg("density"), arg("residual"), arg("method"))
      .def("refuse", &PythonContext::refuse, arg("why"))
      .def("plan", &PythonContext::plan)
      .def("submit", &PythonContext::submit, arg("layer"), arg("address"),
           arg("count"), arg("update"), arg("stream"))
      .def("keeps_gradient", &PythonContext::keeps_gradient, arg("layer"))
      .def("poll", &PythonContext::poll, arg("layer"))
      .def("wait", &PythonContext::wait, arg("layer"))
      .def("set_densities", &PythonContext::set_densities, arg("densities"))
      .def("fail", &PythonContext::fail, arg("why"))
      .def("stats", &PythonContext::stats)
      .def("layer_stats", &PythonContext::layer_stats, arg("layer"))
      .def("layer_state", &PythonContext::layer_state, arg("layer"))
      .def("set_layer_state", &PythonContext::set_layer_state, arg("layer"),
           arg("state"))
      .def("close", &PythonContext::close);
}

}  // namespace
}  // namespace penstock::exchange

// NOLINTNEXTLINE(performance-unnecessary-value-param): the macro's signature
PYBIND11_MODULE(_native, module) {
  using namespace penstock::exchange;
  add_transports(module);
  add_state(module);
  add_stats(module);
  add_update(module);
  add_context(module);
}
