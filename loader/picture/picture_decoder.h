// Decodes pictures of all supported formats, detected from their first bytes.
#pragma once

#include <cstdint>
#include <span>

#include "common/result.h"
#include "loader/picture/image.h"
#include "loader/picture/pixel_buffer.h"

namespace penstock {

enum class PictureFormat { kJpeg, kPng, kWebp, kPpm };

// Pure. Errors: kInvalidArgument  none of these formats
[[nodiscard]] Result<PictureFormat> picture_format(
    std::span<const uint8_t> file);

// Decodes whole pictures of all formats but JPEG, which JpegDecoder decodes in
// part. One per thread.
class PictureDecoder {
 public:
  // most_bytes: limit of the decoded picture and the decoder's working memory.
  explicit PictureDecoder(uint64_t most_bytes = UINT64_MAX)
      : buffer_(most_bytes) {}

  // Decodes to RGB. The view is valid until the next call, and as long as
  // `file`.
  // REQUIRES: the format is not kJpeg.
  // Errors: those of the format's decoder
  [[nodiscard]] Result<ImageView> decode(PictureFormat format,
                                         std::span<const uint8_t> file);

  // For sharing with a JpegDecoder, as only one picture is decoded at a time.
  PixelBuffer& buffer() { return buffer_; }

 private:
  PixelBuffer buffer_;
};

}  // namespace penstock
