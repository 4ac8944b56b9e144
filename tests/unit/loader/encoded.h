// PNG and WebP pictures for the loader's tests.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock::test {

struct PngPicture {
  int width = 0;
  int height = 0;
  int color_type = 2;  // libpng's number; RGB
  int bit_depth = 8;
  bool is_interlaced = false;
  std::vector<uint8_t> rows;     // packed as in PNG
  std::vector<uint8_t> palette;  // R, G, B each; colour type 3 only
  std::vector<uint8_t> alpha;    // of the palette's colours
};
std::vector<uint8_t> png_of(const PngPicture& picture);

// Lossless; rows of R, G, B, or of R, G, B and alpha.
std::vector<uint8_t> webp_of(int width, int height,
                             const std::vector<uint8_t>& rows);

}  // namespace penstock::test
