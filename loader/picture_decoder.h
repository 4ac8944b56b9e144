// Pictures of every format that the loader knows, told by their first bytes.
#pragma once

#include <cstdint>
#include <span>

#include "common/result.h"
#include "loader/image.h"
#include "loader/pixel_buffer.h"

namespace penstock {

enum class PictureFormat { kJpeg, kPng, kWebp, kPpm };

// Errors: kInvalidArgument  none of them. Pure.
[[nodiscard]] Result<PictureFormat> picture_format(
    std::span<const uint8_t> file);

// Decodes whole pictures of the formats that cannot be decoded in part: all but
// JPEG. One per thread.
class PictureDecoder {
 public:
  // most_bytes: of memory.
  explicit PictureDecoder(uint64_t most_bytes = UINT64_MAX)
      : buffer_(most_bytes) {}

  // To RGB. The view is valid until the next call and while `file` is.
  // REQUIRES: the format is not kJpeg.
  // Errors: those of the format's decoder
  [[nodiscard]] Result<ImageView> decode(PictureFormat format,
                                         std::span<const uint8_t> file);

  // For a JpegDecoder beside it: only one picture is there at a time.
  PixelBuffer& buffer() { return buffer_; }

 private:
  PixelBuffer buffer_;
};

}  // namespace penstock
