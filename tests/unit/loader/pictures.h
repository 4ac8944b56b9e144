// Picture files for the loader's tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::test {

// A temporary folder, removed by the destructor.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  std::string path(const std::string& name) const {
    return folder_ + "/" + name;
  }
  const std::string& path() const { return folder_; }

 private:
  std::string folder_;
};

void write_file(const std::string& path, const std::vector<uint8_t>& bytes);
std::vector<uint8_t> bytes_of(const std::string& text);

enum class JpegColours { kYCbCr, kGrey, kCmyk, kYcck };

struct JpegRecipe {
  int width = 64;
  int height = 48;
  int seed = 1;
  JpegColours colours = JpegColours::kYCbCr;
  int colour_pixels_x = 1;  // a colour sample for so many pixels: 1, 2 or 4
  int colour_pixels_y = 1;
  bool progressive = false;
  bool scan_per_coefficient = false;  // a progressive one of 192 scans
  unsigned restart_blocks = 0;        // between restart markers; 0: none
};

// A smooth picture whose colours depend on the seed.
std::vector<uint8_t> jpeg_bytes(const JpegRecipe& recipe);
// Encodes the given pixels of 3 or 4 bytes each.
std::vector<uint8_t> jpeg_of(const JpegRecipe& recipe,
                             const std::vector<uint8_t>& pixels);
std::vector<uint8_t> jpeg_bytes(int width, int height, int seed);
// The smooth picture's pixels: rows of R, G, B.
std::vector<uint8_t> picture_pixels(int width, int height, int seed);
// Pixels of kCmyk and kYcck, inverted as Adobe's: rows of the picture's pixels
// with a fourth byte each.
std::vector<uint8_t> ink_pixels(int width, int height, int seed);
std::vector<uint8_t> ppm_bytes(int width, int height, int seed);

// Fills the folder with count JPEGs of 80 x 60 pixels: 0.jpg, 1.jpg, ...
void write_jpegs(const TempFolder& folder, int count);

}  // namespace penstock::test
