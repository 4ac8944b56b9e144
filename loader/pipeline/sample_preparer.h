// Reads and prepares single samples.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "common/result.h"
#include "loader/picture/jpeg.h"
#include "loader/picture/picture_decoder.h"
#include "loader/picture/resampler.h"
#include "loader/pipeline/token_bucket.h"
#include "penstock/loader/augment.h"
#include "penstock/loader/batch_source.h"
#include "penstock/loader/dataset.h"

namespace penstock {

struct SampleFacts {
  int64_t label = kNoLabel;
  // What reading and preparing it adds; without samples and CPU time.
  LoaderCounters counted;
};

// One preparer per thread; its buffers are reused. The dataset and the bucket
// must outlive it.
class SamplePreparer {
 public:
  struct Options {
    ReadMode read_mode = ReadMode::kBuffered;
    int crop_side = 224;
    Augment augment = Augment::kRandom;
    uint64_t most_bytes = UINT64_MAX;  // memory: a third each for the file, the
                                       // decoded picture and libjpeg
  };
  SamplePreparer(const Dataset& dataset, const Options& options,
                 TokenBucket& bucket);

  // Reads and prepares sample `index`. The result's bits depend only on the
  // sample and the seed, which determines a random crop and flip. Waits for
  // bandwidth until stopping().
  //   out    3 x crop_side x crop_side floats; for a tensor, each byte's value
  //   facts  set in every case
  // Errors: those of SampleReader and of the format's decoder, with the name;
  //         kLimit  more than its share of most_bytes, or no memory;
  //         kUnavailable  stopping() during the wait for bandwidth
  [[nodiscard]] Status prepare(uint64_t index, uint64_t seed,
                               SampleSource source,
                               const std::function<bool()>& stopping,
                               float* out, SampleFacts& facts);

 private:
  Result<std::span<const uint8_t>> fetch(uint64_t index, SampleSource source,
                                         const std::function<bool()>& stopping);
  Crop crop_of(ImageSize size, uint64_t seed) const;
  Status check_share(ImageSize size, JpegScale scale) const;
  Status prepare_bytes(std::span<const uint8_t> bytes, uint64_t seed,
                       float* out);
  Status prepare_jpeg(std::span<const uint8_t> file, uint64_t seed, float* out);
  Status prepare_picture(std::span<const uint8_t> file, uint64_t seed,
                         float* out);
  Status prepare_tensor(std::span<const uint8_t> bytes, float* out);

  const Dataset& dataset_;
  const int crop_side_;
  const Augment augment_;
  const uint64_t share_bytes_;
  TokenBucket& bucket_;
  const std::unique_ptr<SampleReader> reader_;
  PictureDecoder pictures_;
  JpegDecoder decoder_;
  Resampler resampler_;
};

}  // namespace penstock
