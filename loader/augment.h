// Random resized crop, horizontal flip, normalisation. Pure.
#pragma once

#include <vector>

#include "loader/image.h"
#include "loader/random.h"

namespace penstock {

// A part of a picture, in pixels.
struct Crop {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  bool flip = false;  // mirror left and right

  // The same part of the picture scaled by these factors.
  Crop scaled(double by_x, double by_y) const {
    return Crop{x * by_x, y * by_y, width * by_x, height * by_y, flip};
  }
};

// As torchvision's RandomResizedCrop and RandomHorizontalFlip have it: 8% to
// 100% of the area, side ratio 3/4 to 4/3, ten tries, then the largest centred
// part that keeps the ratio; flipped in one case of two. The crop has whole
// pixels and lies inside the picture.
Crop random_crop(ImageSize size, Random& random);

// Resamples the crop to a square, bilinearly, and normalises it with
// ImageNet's mean and standard deviation.
class Resampler {
 public:
  // out_side: pixels along the square's side, >= 1.
  explicit Resampler(int out_side);

  // Writes 3 x out_side x out_side floats (channel, row, column).
  // REQUIRES: the crop lies inside the picture.
  void run(const ImageView& image, const Crop& crop, float* out);

 private:
  struct Tap {
    int left;  // byte offset in the row
    int right;
    float weight;  // of right
  };
  struct Row {
    int y = -1;                 // the picture's row; -1: none
    std::vector<float> values;  // 3 x out_side, by channel
  };

  void place_taps(const ImageView& image, const Crop& crop);
  const float* resampled_row(const ImageView& image, int y, int keep_y);

  int out_side_;
  std::vector<Tap> taps_;
  Row rows_[2];
};

}  // namespace penstock
