// Transport over MPI. Needs MPI_THREAD_SERIALIZED if another thread than the
// one that initialised MPI uses it, and MPI_THREAD_MULTIPLE if the program
// calls MPI at the same time.
#pragma once

#include <mpi.h>

#include <memory>

#include "exchange/transport/transport.h"

namespace penstock::exchange {

// Collective over `comm`. Uses a duplicate of it, so its messages are apart
// from the program's. MPI errors are returned, not fatal.
//
// Operations that are unfinished when the transport is destroyed are left to
// MPI: their buffers must stay valid until MPI_Finalize().
// Errors: kUnavailable  MPI is not initialised, or is finalised
//         kIo           an MPI error, with its text
[[nodiscard]] Result<std::unique_ptr<Transport>> mpi_transport(MPI_Comm comm);

}  // namespace penstock::exchange
