// One sample from its file to its place in the batch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "common/result.h"
#include "loader/jpeg.h"
#include "loader/picture_decoder.h"
#include "loader/resampler.h"
#include "loader/token_bucket.h"
#include "penstock/loader/augment.h"
#include "penstock/loader/dataset.h"

namespace penstock {

struct SampleFacts {
  int64_t label = kNoLabel;
  uint64_t bytes = 0;         // read from storage
  uint64_t cached_bytes = 0;  // from a cache of ours instead
  bool is_cached = false;
  bool is_from_peer = false;  // and that cache is another node's
  uint64_t fetch_ns = 0;      // waiting for bandwidth and reading
  uint64_t prep_ns = 0;       // decoding, cropping, normalising
};

// One preparer per thread; its buffers are used again. The dataset and the
// bucket must outlive it.
class SamplePreparer {
 public:
  struct Options {
    ReadMode read_mode = ReadMode::kBuffered;
    int crop_side = 224;
    Augment augment = Augment::kRandom;
    uint64_t most_bytes = UINT64_MAX;  // of memory; a third of it is a file's,
                                       // a third a decoded picture's, a third
                                       // libjpeg's own
  };
  SamplePreparer(const Dataset& dataset, const Options& options,
                 TokenBucket& bucket);

  // Fetches and prepares sample `index`; seed alone decides a random crop and
  // flip, so the result's bits depend on the sample and the seed only.
  // Waits for bandwidth while stopping() is false.
  // out: 3 x crop_side x crop_side floats; of a tensor, each byte's value as a
  // float. facts are set in every case.
  // Errors: those of SampleReader and of the format's decoder, with the name;
  //         kLimit  more than its share of most_bytes, or no memory;
  //         kUnavailable  stopping() while it waited for bandwidth
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
