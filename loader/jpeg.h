// JPEG pictures through libjpeg-turbo.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "common/result.h"
#include "loader/image.h"

namespace penstock {

// A decoded JPEG may be smaller than the file's picture by `eighths` / 8.
struct JpegScale {
  // 1, 2, 4 or 8. libjpeg-turbo has other factors too, but for these alone a
  // SIMD inverse DCT: 7/8 was measured to take twice the time of full size.
  int eighths = 8;
};

// The smallest scale at which a crop of the given size (in pixels of the full
// picture) still has at least out_side pixels along both sides; full size
// where none has. Pure.
JpegScale choose_scale(double crop_width, double crop_height, int out_side);

// One decoder per thread; its buffers grow to the largest picture seen.
class JpegDecoder {
 public:
  // Reads the header only.
  // Errors: kInvalidArgument  not a JPEG, or beyond image.h's bounds.
  [[nodiscard]] Result<ImageSize> read_size(std::span<const uint8_t> file);

  // Decodes to RGB. The view is valid until the next call.
  // Errors: kInvalidArgument  damaged or cut short (anything that
  //                           libjpeg-turbo warns of), or CMYK.
  [[nodiscard]] Result<ImageView> decode(std::span<const uint8_t> file,
                                         JpegScale scale);

 private:
  struct Destroy {
    void operator()(void* handle) const;
  };
  Status make_handle();

  std::unique_ptr<void, Destroy> handle_;
  std::unique_ptr<uint8_t[]> pixels_;
  uint64_t capacity_bytes_ = 0;
};

}  // namespace penstock
