#include "loader/picture/picture_decoder.h"

#include <string_view>

#include "loader/picture/png.h"
#include "loader/picture/ppm.h"
#include "loader/picture/webp.h"

namespace penstock {

Result<PictureFormat> picture_format(std::span<const uint8_t> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()),
                              file.size());
  if (text.starts_with("\xff\xd8\xff")) return PictureFormat::kJpeg;
  if (text.starts_with("\x89PNG\r\n\x1a\n")) return PictureFormat::kPng;
  if (text.starts_with("RIFF") && text.substr(0, 12).ends_with("WEBP")) {
    return PictureFormat::kWebp;
  }
  if (text.starts_with("P6")) return PictureFormat::kPpm;
  return invalid(
      "not a picture: it does not begin like JPEG, PNG, WebP or binary PPM");
}

Result<ImageView> PictureDecoder::decode(PictureFormat format,
                                         std::span<const uint8_t> file) {
  switch (format) {
    case PictureFormat::kPng:
      return decode_png(file, buffer_);
    case PictureFormat::kWebp:
      return decode_webp(file, buffer_);
    default:
      return parse_ppm(file);
  }
}

}  // namespace penstock
