// Samples of a pipeline during a measurement: a subset over and over, from the
// page cache unless cold; or the normal stream.
#pragma once

#include <cstdint>

namespace penstock {

struct Feed {
  uint64_t subset_samples = 0;  // the stream's first ones; 0: whole stream
  bool cold = false;            // read from storage, even if cached
};

}  // namespace penstock
