// A GPU of this machine as a Device, by CUDA.
#pragma once

#include <memory>

#include "exchange/device/device.h"

namespace penstock::exchange {

// number: CUDA's index among the GPUs that the process sees.
// Errors: kUnavailable  there is no such GPU, or it cannot be used
[[nodiscard]] Result<std::unique_ptr<Device>> open_cuda_device(int number);

}  // namespace penstock::exchange
