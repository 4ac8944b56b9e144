// Ranks of an MPI program. Needs MPI_THREAD_SERIALIZED where another thread
// than the initialising one calls it, and nothing beyond that.
#pragma once

#include <mpi.h>

#include <memory>

#include "exchange/transport/transport.h"

namespace penstock::exchange {

// All ranks of `comm` call it; what they exchange is apart from all else that
// goes over it. The communicator's errors are returned, not fatal; what was
// begun and not done when the transport ends is left to MPI: its buffers must
// stay until MPI_Finalize() then.
// Errors: kUnavailable  MPI is not initialised, or has ended
//         kIo           MPI's, with its text
[[nodiscard]] Result<std::unique_ptr<Transport>> mpi_transport(MPI_Comm comm);

}  // namespace penstock::exchange
