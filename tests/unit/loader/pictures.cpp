#include "tests/unit/loader/pictures.h"

#include <jpeglib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace penstock::test {
namespace {

// Encodes a recipe with libjpeg, whose default handler ends the test on an
// error.
class RecipeEncoder {
 public:
  explicit RecipeEncoder(const JpegRecipe& recipe) {
    info_.err = jpeg_std_error(&errors_);
    jpeg_create_compress(&info_);
    jpeg_mem_dest(&info_, &file_, &size_bytes_);
    info_.image_width = static_cast<JDIMENSION>(recipe.width);
    info_.image_height = static_cast<JDIMENSION>(recipe.height);
    const bool cmyk = recipe.colours == JpegColours::kCmyk ||
                      recipe.colours == JpegColours::kYcck;
    info_.input_components = cmyk ? 4 : 3;
    info_.in_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    jpeg_set_defaults(&info_);
    if (recipe.colours == JpegColours::kGrey) {
      jpeg_set_colorspace(&info_, JCS_GRAYSCALE);
    }
    if (recipe.colours == JpegColours::kYcck) {
      jpeg_set_colorspace(&info_, JCS_YCCK);
      info_.comp_info[3].h_samp_factor = recipe.colour_pixels_x;
      info_.comp_info[3].v_samp_factor = recipe.colour_pixels_y;
    }
    jpeg_set_quality(&info_, 95, TRUE);
    info_.comp_info[0].h_samp_factor = recipe.colour_pixels_x;
    info_.comp_info[0].v_samp_factor = recipe.colour_pixels_y;
    info_.restart_interval = recipe.restart_blocks;
    if (recipe.progressive) jpeg_simple_progression(&info_);
    if (recipe.scan_per_coefficient) use_many_scans();
  }
  RecipeEncoder(const RecipeEncoder&) = delete;
  RecipeEncoder& operator=(const RecipeEncoder&) = delete;
  ~RecipeEncoder() {
    jpeg_destroy_compress(&info_);
    std::free(file_);
  }

  std::vector<uint8_t> encode(const std::vector<uint8_t>& pixels) {
    const size_t bytes =
        static_cast<size_t>(info_.input_components) * info_.image_width;
    std::vector<uint8_t> row(bytes);
    jpeg_start_compress(&info_, TRUE);
    for (size_t y = 0; y < info_.image_height; ++y) {
      std::copy_n(pixels.begin() + static_cast<long>(y * bytes), bytes,
                  row.begin());
      JSAMPROW line = row.data();
      jpeg_write_scanlines(&info_, &line, 1);
    }
    jpeg_finish_compress(&info_);
    return {file_, file_ + size_bytes_};
  }

 private:
  void use_many_scans() {
    scans_.push_back({3, {0, 1, 2, 0}, 0, 0, 0, 0});
    for (int component = 0; component < 3; ++component) {
      for (int i = 1; i < 64; ++i) {
        scans_.push_back({1, {component, 0, 0, 0}, i, i, 0, 0});
      }
    }
    info_.scan_info = scans_.data();
    info_.num_scans = static_cast<int>(scans_.size());
  }

  jpeg_compress_struct info_{};
  jpeg_error_mgr errors_{};
  std::vector<jpeg_scan_info> scans_;
  unsigned char* file_ = nullptr;
  unsigned long size_bytes_ = 0;
};

}  // namespace

std::vector<uint8_t> picture_pixels(int width, int height, int seed) {
  std::vector<uint8_t> all;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int channel = 1; channel <= 3; ++channel) {
        all.push_back(
            static_cast<uint8_t>((x * channel + y + seed * 13) / 2 % 256));
      }
    }
  }
  return all;
}

std::vector<uint8_t> ink_pixels(int width, int height, int seed) {
  const auto pixels = picture_pixels(width, height, seed);
  std::vector<uint8_t> all;
  for (size_t i = 0; i < pixels.size(); i += 3) {
    all.insert(all.end(), {pixels[i], pixels[i + 1], pixels[i + 2]});
    all.push_back(static_cast<uint8_t>(255 - i / 3 % size_t(width)));
  }
  return all;
}

TempFolder::TempFolder() {
  char folder[] = "/tmp/penstock-test-XXXXXX";
  if (mkdtemp(folder) == nullptr) std::abort();
  folder_ = folder;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void write_file(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) std::abort();
  const bool written =
      bytes.empty() ||
      std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (std::fclose(file) != 0 || !written) {
    std::abort();
  }
}

std::vector<uint8_t> bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

std::vector<uint8_t> jpeg_of(const JpegRecipe& recipe,
                             const std::vector<uint8_t>& pixels) {
  return RecipeEncoder(recipe).encode(pixels);
}

std::vector<uint8_t> jpeg_bytes(const JpegRecipe& recipe) {
  const bool has_inks = recipe.colours == JpegColours::kCmyk ||
                        recipe.colours == JpegColours::kYcck;
  return jpeg_of(
      recipe, has_inks
                  ? ink_pixels(recipe.width, recipe.height, recipe.seed)
                  : picture_pixels(recipe.width, recipe.height, recipe.seed));
}

std::vector<uint8_t> jpeg_bytes(int width, int height, int seed) {
  return jpeg_bytes({.width = width, .height = height, .seed = seed});
}

std::vector<uint8_t> ppm_bytes(int width, int height, int seed) {
  auto bytes = bytes_of("P6\n" + std::to_string(width) + " " +
                        std::to_string(height) + "\n255\n");
  const auto body = picture_pixels(width, height, seed);
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

void write_jpegs(const TempFolder& folder, int count) {
  for (int i = 0; i < count; ++i) {
    write_file(folder.path(std::to_string(i) + ".jpg"), jpeg_bytes(80, 60, i));
  }
}

}  // namespace penstock::test
