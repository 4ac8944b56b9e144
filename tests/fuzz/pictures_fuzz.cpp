// PNG, WebP and PPM: what is decoded is whole and within the bounds.
#include <webp/decode.h>

#include "loader/picture/picture_decoder.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

namespace {

// Little files may be large pictures, which take long.
constexpr uint64_t kMostPixels = 1 << 22;

uint32_t number_at(const uint8_t* data) {
  return uint32_t{data[0]} << 24 | uint32_t{data[1]} << 16 |
         uint32_t{data[2]} << 8 | data[3];
}

bool is_large_png(const uint8_t* data, size_t size) {
  return size >= 24 &&
         uint64_t{number_at(data + 16)} * number_at(data + 20) > kMostPixels;
}

bool is_large_webp(const uint8_t* data, size_t size) {
  int width = 0;
  int height = 0;
  return WebPGetInfo(data, size, &width, &height) &&
         uint64_t(width) * uint64_t(height) > kMostPixels;
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto format = picture_format({data, size});
  if (!format || *format == PictureFormat::kJpeg) return 0;
  if (*format == PictureFormat::kPng && is_large_png(data, size)) return 0;
  if (*format == PictureFormat::kWebp && is_large_webp(data, size)) return 0;
  static PictureDecoder decoder;
  const auto image = decoder.decode(*format, {data, size});
  if (!image) {
    FUZZ_CHECK(image.error().code == Code::kInvalidArgument);
    return 0;
  }
  FUZZ_CHECK(image->width >= 1 && image->width <= kMaxSidePixels);
  FUZZ_CHECK(image->height >= 1 && image->height <= kMaxSidePixels);
  // Reads every pixel: the sanitizer finds what is not there.
  unsigned sum = 0;
  for (const uint8_t* p = image->pixels; p < image->row(image->height); ++p) {
    sum += *p;
  }
  static volatile unsigned sink = 0;
  sink = sum;
  return 0;
}
