// One sample from its file to its place in the batch.
#pragma once

#include <cstdint>
#include <functional>

#include "common/result.h"
#include "loader/dataset.h"
#include "loader/feed.h"
#include "loader/file_reader.h"
#include "loader/jpeg.h"
#include "loader/resampler.h"
#include "loader/token_bucket.h"

namespace penstock {

struct SampleCost {
  uint64_t bytes = 0;     // read from storage
  uint64_t fetch_ns = 0;  // waiting for bandwidth and reading
  uint64_t prep_ns = 0;   // decoding, cropping, normalising
};

// One preparer per thread; its buffers are used again. The dataset and the
// bucket must outlive it.
class SamplePreparer {
 public:
  SamplePreparer(const Dataset& dataset, ReadMode mode, int crop_side,
                 TokenBucket& bucket);

  // Fetches and prepares sample `index`; seed alone decides the crop and the
  // flip, so the result's bits depend on the file and the seed only.
  // Waits for bandwidth while stopping() is false.
  // out: 3 x crop_side x crop_side floats. cost is set in every case.
  // Errors: those of FileReader and of the format's decoder, with the path;
  //         kUnavailable  stopping() while it waited for bandwidth
  [[nodiscard]] Status prepare(uint64_t index, uint64_t seed,
                               SampleSource source,
                               const std::function<bool()>& stopping,
                               float* out, SampleCost& cost);

 private:
  Result<std::span<const uint8_t>> fetch(const std::string& path,
                                         SampleSource source,
                                         const std::function<bool()>& stopping);
  Status prepare_jpeg(std::span<const uint8_t> file, uint64_t seed, float* out);
  Status prepare_raw(std::span<const uint8_t> file, uint64_t seed, float* out);

  const Dataset& dataset_;
  int crop_side_;
  TokenBucket& bucket_;
  const ReadMode mode_;
  FileReader reader_;
  JpegDecoder decoder_;
  Resampler resampler_;
};

}  // namespace penstock
