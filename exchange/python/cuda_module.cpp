// penstock.exchange._native_cuda: CUDA devices for contexts. A module of its
// own, so that _native loads without CUDA.
#include <pybind11/pybind11.h>

#include "exchange/cuda/cuda_device.h"
#include "exchange/python/transport.h"

namespace penstock::exchange {
namespace {

std::shared_ptr<Device> open_device(int number) {
  auto device = open_cuda_device(number);
  if (!device) throw_error(device.error());
  return *std::move(device);
}

}  // namespace
}  // namespace penstock::exchange

// NOLINTNEXTLINE(performance-unnecessary-value-param): the macro's signature
PYBIND11_MODULE(_native_cuda, module) {
  pybind11::module_::import("penstock.exchange._native");
  module.def("open_device", &penstock::exchange::open_device,
             pybind11::arg("number"));
}
