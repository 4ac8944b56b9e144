// Chooses the part of a picture that becomes a sample. Pure.
#pragma once

#include "loader/data/random.h"
#include "loader/picture/image.h"

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

// Like torchvision's RandomResizedCrop and RandomHorizontalFlip: 8% to 100% of
// the area, side ratio 3/4 to 4/3, ten tries, then the largest centred part
// within these ratios; flipped with probability 1/2. The crop has whole pixels
// and lies inside the picture.
Crop random_crop(ImageSize size, Random& random);

// The part of Augment::kCentre; not in whole pixels.
Crop centre_square(ImageSize size);

}  // namespace penstock
