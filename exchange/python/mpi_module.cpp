// penstock.exchange._native_mpi: the ranks of an MPI program. A module of its
// own, so that _native loads without MPI.
#include <pybind11/pybind11.h>

#include "exchange/python/transport.h"
#include "exchange/transport/mpi_transport.h"

namespace penstock::exchange {
namespace {

bool is_initialised_here = false;

// Initialises MPI if the program has not. Returns MPI's thread level.
int begin_mpi() {
  int is_initialised = 0, is_finalised = 0, level = MPI_THREAD_SINGLE;
  MPI_Finalized(&is_finalised);
  if (is_finalised != 0) {
    throw_error({Code::kUnavailable, 0,
                 "MPI_Finalize() has been called: nothing can be exchanged"});
  }
  MPI_Initialized(&is_initialised);
  if (is_initialised != 0) {
    MPI_Query_thread(&level);
    return level;
  }
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level) !=
      MPI_SUCCESS) {
    throw_error({Code::kUnavailable, 0, "MPI_Init_thread() failed"});
  }
  is_initialised_here = true;
  return level;
}

// A context's thread needs MPI_THREAD_MULTIPLE, as the program may call MPI at
// the same time. If this module initialised MPI, the program does not call it,
// and MPI_THREAD_SERIALIZED is enough.
PythonTransport world() {
  const int level = begin_mpi();
  const bool allows_thread =
      level == MPI_THREAD_MULTIPLE ||
      (level == MPI_THREAD_SERIALIZED && is_initialised_here);
  auto transport = mpi_transport(MPI_COMM_WORLD);
  if (!transport) throw_error(transport.error());
  return {*std::move(transport), allows_thread};
}

// Finalises MPI, if this module initialised it. Waits for the other ranks.
void end_mpi() {
  int is_finalised = 0;
  MPI_Finalized(&is_finalised);
  const pybind11::gil_scoped_release others;
  if (is_initialised_here && is_finalised == 0) MPI_Finalize();
}

}  // namespace
}  // namespace penstock::exchange

// NOLINTNEXTLINE(performance-unnecessary-value-param): the macro's signature
PYBIND11_MODULE(_native_mpi, module) {
  using namespace penstock::exchange;
  pybind11::module_::import("penstock.exchange._native");
  module.def("world", &world);
  module.def("finalize", &end_mpi);
}
