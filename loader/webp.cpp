#include "loader/webp.h"

#include <webp/decode.h>

#include <cerrno>
#include <new>

namespace penstock {
namespace {

Error webp_error(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return Error{Code::kLimit, ENOMEM, "WebP: out of memory"};
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      return invalid("WebP: cut short");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return invalid("WebP: a feature that libwebp does not handle");
    default:
      return invalid("WebP: damaged");
  }
}

}  // namespace

Result<ImageView> WebpDecoder::decode(std::span<const uint8_t> file) {
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) {
    return invalid("WebP: libwebp is of another version than its headers");
  }
  const VP8StatusCode looked =
      WebPGetFeatures(file.data(), file.size(), &config.input);
  if (looked != VP8_STATUS_OK) return webp_error(looked);
  if (config.input.has_animation) {
    return invalid("WebP: animated pictures are not handled");
  }
  const ImageSize size{config.input.width, config.input.height};
  const uint64_t bytes = 3 * static_cast<uint64_t>(size.width) *
                         static_cast<uint64_t>(size.height);
  if (bytes > 3 * kMaxPixels) return invalid("WebP: over 256 Mpixel");
  if (bytes > capacity_bytes_) {
    capacity_bytes_ = 0;
    pixels_.reset(new (std::nothrow) uint8_t[bytes]);
    if (!pixels_) return webp_error(VP8_STATUS_OUT_OF_MEMORY);
    capacity_bytes_ = bytes;
  }
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {pixels_.get(), 3 * size.width, bytes};
  const VP8StatusCode decoded = WebPDecode(file.data(), file.size(), &config);
  if (decoded != VP8_STATUS_OK) return webp_error(decoded);
  return ImageView{pixels_.get(), size.width, size.height};
}

}  // namespace penstock
