// Divides a rank's stream of samples into batches. Pure.
#pragma once

#include <cstdint>

namespace penstock {

class BatchPlan {
 public:
  struct Shape {
    uint64_t batch_samples = 1;           // >= 1
    uint64_t total_samples = UINT64_MAX;  // of the stream; its last batch may
                                          // be short
    // Each epoch's last batch may be short too. The first epoch may be the rest
    // of a resumed one. 0: batches span epochs.
    uint64_t epoch_samples = 0;
    uint64_t first_epoch_samples = 0;
  };
  explicit BatchPlan(const Shape& shape);

  // Position in the stream of a batch's first sample.
  uint64_t first_sample(uint64_t batch) const;
  // Number of samples of a batch; 0 beyond the stream's end.
  uint64_t samples(uint64_t batch) const;
  // Whether the batch is an epoch's last; always false if batches span epochs.
  bool ends_epoch(uint64_t batch) const;

  uint64_t batch_samples() const { return shape_.batch_samples; }

 private:
  struct Place {
    uint64_t epoch_end;  // in the stream
    uint64_t begin;      // of the batch
  };
  Place place_of(uint64_t batch) const;

  Shape shape_;
  uint64_t epoch_batches_;
  uint64_t first_epoch_batches_;
};

}  // namespace penstock
