#include "loader/picture/augment.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

Crop centred_crop(ImageSize size) {
  double width = size.width;
  double height = size.height;
  width = std::min(width, std::round(height * 4 / 3));
  height = std::min(height, std::round(width * 4 / 3));
  return Crop{std::floor((size.width - width) / 2),
              std::floor((size.height - height) / 2), width, height, false};
}

}  // namespace

Crop random_crop(ImageSize size, Random& random) {
  const double area = static_cast<double>(size.width) * size.height;
  const double log_ratio = std::log(4.0 / 3.0);
  Crop crop = centred_crop(size);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * random.uniform(0.08, 1.0);
    const double ratio = std::exp(random.uniform(-log_ratio, log_ratio));
    const double width = std::round(std::sqrt(target * ratio));
    const double height = std::round(std::sqrt(target / ratio));
    if (width < 1 || height < 1 || width > size.width || height > size.height) {
      continue;
    }
    const auto room_x = static_cast<uint64_t>(size.width - width) + 1;
    const auto room_y = static_cast<uint64_t>(size.height - height) + 1;
    crop =
        Crop{static_cast<double>(random.below(room_x)),
             static_cast<double>(random.below(room_y)), width, height, false};
    break;
  }
  crop.flip = random.uniform() < 0.5;
  return crop;
}

Crop centre_square(ImageSize size) {
  const double side = std::min(size.width, size.height) * (224.0 / 256.0);
  return Crop{(size.width - side) / 2, (size.height - side) / 2, side, side,
              false};
}

}  // namespace penstock
