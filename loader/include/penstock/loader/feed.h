// Which samples a pipeline loads while it is being measured: a subset over and
// over, or its own stream read from storage.
#pragma once

#include <cstdint>

namespace penstock {

struct Feed {
  uint64_t subset_samples = 0;  // of the first epoch's order; 0: all, in turn
  bool cold = false;            // read from storage, whatever is cached
};

}  // namespace penstock
