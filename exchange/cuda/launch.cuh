// Launches a one-dimensional kernel. (Tests replace this file by one that runs
// kernels on the CPU: tests/unit/exchange/emulated_cuda.)
#pragma once

#include <cuda_runtime_api.h>

namespace penstock::exchange {

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
            cudaStream_t stream, Arguments... arguments) {
  kernel<<<blocks, threads, 0, stream>>>(arguments...);
}

}  // namespace penstock::exchange
