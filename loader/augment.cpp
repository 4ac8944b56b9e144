#include "loader/augment.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

constexpr float kMean[3] = {0.485f, 0.456f, 0.406f};
constexpr float kDeviation[3] = {0.229f, 0.224f, 0.225f};

Crop centred_crop(ImageSize size) {
  double width = size.width;
  double height = size.height;
  width = std::min(width, std::round(height * 4 / 3));
  height = std::min(height, std::round(width * 4 / 3));
  return Crop{std::floor((size.width - width) / 2),
              std::floor((size.height - height) / 2), width, height, false};
}

// Where output column or row i looks in the picture: the two neighbours, and
// the weight of the second.
struct Neighbours {
  int first;
  int second;
  float weight;
};

Neighbours neighbours(int i, double begin, double step, int count) {
  const double at =
      std::clamp(begin + (i + 0.5) * step - 0.5, 0.0, count - 1.0);
  const int first = static_cast<int>(at);
  return {first, std::min(first + 1, count - 1),
          static_cast<float>(at - first)};
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

Resampler::Resampler(int out_side) : out_side_(out_side) {
  taps_.resize(static_cast<size_t>(out_side));
  for (Row& row : rows_) row.values.resize(3 * static_cast<size_t>(out_side));
}

void Resampler::place_taps(const ImageView& image, const Crop& crop) {
  const double step = crop.width / out_side_;
  for (int i = 0; i < out_side_; ++i) {
    const Neighbours at = neighbours(i, crop.x, step, image.width);
    const int column = crop.flip ? out_side_ - 1 - i : i;
    taps_[static_cast<size_t>(column)] = {3 * at.first, 3 * at.second,
                                          at.weight};
  }
}

// Row y of the picture at the output's columns. Neighbouring output rows share
// picture rows, so the last two are kept; keep_y is not thrown out.
const float* Resampler::resampled_row(const ImageView& image, int y,
                                      int keep_y) {
  for (const Row& row : rows_) {
    if (row.y == y) return row.values.data();
  }
  Row& row = rows_[0].y == keep_y ? rows_[1] : rows_[0];
  row.y = y;
  const uint8_t* source = image.row(y);
  float* red = row.values.data();
  float* green = red + out_side_;
  float* blue = green + out_side_;
  for (int i = 0; i < out_side_; ++i) {
    const Tap& tap = taps_[static_cast<size_t>(i)];
    const uint8_t* left = source + tap.left;
    const uint8_t* right = source + tap.right;
    const float weight = tap.weight;
    red[i] = left[0] + weight * static_cast<float>(right[0] - left[0]);
    green[i] = left[1] + weight * static_cast<float>(right[1] - left[1]);
    blue[i] = left[2] + weight * static_cast<float>(right[2] - left[2]);
  }
  return red;
}

void Resampler::run(const ImageView& image, const Crop& crop, float* out) {
  place_taps(image, crop);
  for (Row& row : rows_) row.y = -1;
  const double step = crop.height / out_side_;
  const size_t plane = static_cast<size_t>(out_side_) * out_side_;
  for (int y = 0; y < out_side_; ++y) {
    const Neighbours at = neighbours(y, crop.y, step, image.height);
    const float* upper = resampled_row(image, at.first, at.second);
    const float* lower = resampled_row(image, at.second, at.first);
    for (int channel = 0; channel < 3; ++channel) {
      const float scale = 1.0f / (255.0f * kDeviation[channel]);
      const float offset = -kMean[channel] / kDeviation[channel];
      const size_t row = static_cast<size_t>(channel) * out_side_;
      const float* a = upper + row;
      const float* b = lower + row;
      float* to = out + static_cast<size_t>(channel) * plane +
                  static_cast<size_t>(y) * out_side_;
      for (int x = 0; x < out_side_; ++x) {
        to[x] = (a[x] + at.weight * (b[x] - a[x])) * scale + offset;
      }
    }
  }
}

}  // namespace penstock
