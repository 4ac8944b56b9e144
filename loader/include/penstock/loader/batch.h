// A batch of samples, as a pipeline hands it out.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// Samples in one contiguous block, with each one's label and index in the
// dataset. Broken samples are left out. Valid until it is released.
struct Batch {
  const float* data = nullptr;        // size x sample_floats
  const int64_t* labels = nullptr;    // size; kNoLabel: none
  const uint64_t* indices = nullptr;  // size
  size_t size = 0;                    // good samples
  size_t sample_floats = 0;
  uint64_t number = 0;      // of the batch in its stream, from 0
  bool ends_epoch = false;  // the epoch's last batch handed out; always false
                            // if batches span epochs
  bool is_pinned = false;   // data is pinned memory: a GPU can copy it by DMA
};

}  // namespace penstock
