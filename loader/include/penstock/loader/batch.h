// What a pipeline hands out.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// Samples one behind the other in one block of memory, with the label and the
// number in the dataset of each. Broken samples are left out. It is valid until
// it is given back.
struct Batch {
  const float* data = nullptr;        // size x sample_floats
  const int64_t* labels = nullptr;    // size; kNoLabel: none
  const uint64_t* indices = nullptr;  // size
  size_t size = 0;                    // good samples
  size_t sample_floats = 0;
  uint64_t number = 0;      // of the batch in its stream, from 0
  bool ends_epoch = false;  // the epoch's last that comes; never where batches
                            // span epochs
  bool is_pinned = false;   // a GPU copies from data without the CPU's help
};

}  // namespace penstock
