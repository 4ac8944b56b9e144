// Replaces exchange/cuda/launch.cuh: runs kernels on the CPU.
#pragma once

#include "tests/unit/exchange/emulated_cuda/kernel.h"
#include "tests/unit/exchange/emulated_cuda/runtime.h"

namespace penstock::exchange {

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
            cudaStream_t stream, Arguments... arguments) {
  emulated_cuda::enqueue(stream, [=] {
    emulated_cuda::run_grid(blocks, threads, [&] { kernel(arguments...); });
  });
}

}  // namespace penstock::exchange
