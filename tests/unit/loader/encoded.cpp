#include "tests/unit/loader/encoded.h"

#include <png.h>
#include <webp/encode.h>

#include <cstdlib>

namespace penstock::test {
namespace {

void on_write(png_structp png, png_bytep bytes, size_t size) {
  auto* out = static_cast<std::vector<uint8_t>*>(png_get_io_ptr(png));
  out->insert(out->end(), bytes, bytes + size);
}

void on_flush(png_structp) {}

}  // namespace

std::vector<uint8_t> png_of(const PngPicture& picture) {
  std::vector<uint8_t> out;
  png_structp png =
      png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &out, on_write, on_flush);
  const auto height = static_cast<png_uint_32>(picture.height);
  png_set_IHDR(png, info, static_cast<png_uint_32>(picture.width), height,
               picture.bit_depth, picture.color_type,
               picture.is_interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color> palette;
  for (size_t i = 0; i + 2 < picture.palette.size(); i += 3) {
    palette.push_back(
        {picture.palette[i], picture.palette[i + 1], picture.palette[i + 2]});
  }
  if (!palette.empty()) {
    png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
  }
  if (!picture.alpha.empty()) {
    png_set_tRNS(png, info, picture.alpha.data(),
                 static_cast<int>(picture.alpha.size()), nullptr);
  }
  png_write_info(png, info);
  const size_t row_bytes = png_get_rowbytes(png, info);
  if (picture.rows.size() != row_bytes * height) std::abort();
  std::vector<png_bytep> rows;
  for (size_t y = 0; y < height; ++y) {
    rows.push_back(const_cast<png_bytep>(picture.rows.data() + y * row_bytes));
  }
  png_write_image(png, rows.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return out;
}

std::vector<uint8_t> webp_of(int width, int height,
                             const std::vector<uint8_t>& rows) {
  const int bytes = static_cast<int>(rows.size()) / (width * height);
  uint8_t* webp = nullptr;
  const size_t size =
      bytes == 4
          ? WebPEncodeLosslessRGBA(rows.data(), width, height, 4 * width, &webp)
          : WebPEncodeLosslessRGB(rows.data(), width, height, 3 * width, &webp);
  if (size == 0) std::abort();
  const std::vector<uint8_t> out(webp, webp + size);
  WebPFree(webp);
  return out;
}

}  // namespace penstock::test
