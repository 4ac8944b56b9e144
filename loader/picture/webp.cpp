#include "loader/picture/webp.h"

#include <webp/decode.h>

#include <cerrno>

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

Result<ImageView> decode_webp(std::span<const uint8_t> file,
                              PixelBuffer& buffer) {
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
  // libwebp decodes lossless pictures to 4 bytes per pixel first.
  constexpr int kLossless = 2;
  const uint64_t working = config.input.format == kLossless ? bytes / 3 * 4 : 0;
  auto room = buffer.reserve(bytes, working);
  if (!room) return std::move(room).error().wrap("WebP");
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {*room, 3 * size.width, bytes};
  const VP8StatusCode decoded = WebPDecode(file.data(), file.size(), &config);
  if (decoded != VP8_STATUS_OK) return webp_error(decoded);
  return ImageView{*room, size.width, size.height};
}

}  // namespace penstock
