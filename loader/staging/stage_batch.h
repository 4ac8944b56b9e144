// Layout of a batch in its buffer: number of good samples, labels, indices in
// the data set, samples. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "penstock/loader/batch.h"

namespace penstock {

class StageBatchLayout {
 public:
  StageBatchLayout(uint64_t batch_samples, uint64_t sample_floats)
      : batch_samples_(batch_samples), sample_floats_(sample_floats) {}

  uint64_t sample_floats() const { return sample_floats_; }

  uint64_t& size(uint8_t* buffer) const {
    return *reinterpret_cast<uint64_t*>(buffer);
  }
  int64_t* labels(uint8_t* buffer) const {
    return reinterpret_cast<int64_t*>(buffer + kLineBytes);
  }
  uint64_t* indices(uint8_t* buffer) const {
    return reinterpret_cast<uint64_t*>(labels(buffer) + batch_samples_);
  }
  float* data(uint8_t* buffer) const {
    return reinterpret_cast<float*>(buffer + data_offset());
  }
  uint64_t bytes() const {
    const uint64_t floats = batch_samples_ * sample_floats_;
    return (data_offset() + floats * sizeof(float) + 4095) / 4096 * 4096;
  }

  // A view of the batch. The size is clamped: other processes can write it.
  Batch view(uint8_t* buffer) const {
    Batch batch;
    batch.data = data(buffer);
    batch.labels = labels(buffer);
    batch.indices = indices(buffer);
    batch.size = static_cast<size_t>(std::min(size(buffer), batch_samples_));
    batch.sample_floats = static_cast<size_t>(sample_floats_);
    return batch;
  }

 private:
  static constexpr uint64_t kLineBytes = 64;  // CPU cache line

  uint64_t data_offset() const {
    const uint64_t numbers = 2 * batch_samples_ * sizeof(uint64_t);
    return kLineBytes + (numbers + kLineBytes - 1) / kLineBytes * kLineBytes;
  }

  const uint64_t batch_samples_;
  const uint64_t sample_floats_;
};

}  // namespace penstock
