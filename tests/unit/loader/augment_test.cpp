#include "loader/augment.h"

#include "tests/unit/catch.h"

using penstock::Crop;
using penstock::ImageSize;
using penstock::ImageView;
using penstock::Random;
using penstock::random_crop;
using penstock::Resampler;

namespace {

constexpr float kMeans[3] = {0.485f, 0.456f, 0.406f};
constexpr float kDeviations[3] = {0.229f, 0.224f, 0.225f};

float normalised(double byte, int channel) {
  return static_cast<float>((byte / 255 - kMeans[channel]) /
                            kDeviations[channel]);
}

// Red grows with x, green with y, blue is 100.
std::vector<uint8_t> ramp(int width, int height) {
  std::vector<uint8_t> pixels;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      pixels.insert(pixels.end(), {static_cast<uint8_t>(10 * x),
                                   static_cast<uint8_t>(10 * y), 100});
    }
  }
  return pixels;
}

}  // namespace

TEST_CASE("crops lie inside the picture and keep their bounds") {
  const uint64_t seed = GENERATE(range(0, 2000));
  CAPTURE(seed);
  Random random(seed);
  const ImageSize size = GENERATE(ImageSize{500, 375}, ImageSize{1, 1},
                                  ImageSize{3, 1000}, ImageSize{1000, 3});
  const Crop crop = random_crop(size, random);
  CHECK(crop.x >= 0);
  CHECK(crop.y >= 0);
  CHECK(crop.width >= 1);
  CHECK(crop.height >= 1);
  CHECK(crop.x + crop.width <= size.width);
  CHECK(crop.y + crop.height <= size.height);
  if (size.width == 500) {
    const double area = crop.width * crop.height / (500.0 * 375.0);
    CHECK(area >= 0.079);
    CHECK(crop.width / crop.height <= 1.35);
    CHECK(crop.width / crop.height >= 0.74);
  }
}

TEST_CASE("half of the crops are flipped, and sizes vary") {
  int flips = 0;
  double smallest = 1;
  double largest = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const Crop crop = random_crop({400, 400}, random);
    flips += crop.flip ? 1 : 0;
    const double area = crop.width * crop.height / 160000;
    smallest = std::min(smallest, area);
    largest = std::max(largest, area);
  }
  CHECK(flips > 440);
  CHECK(flips < 560);
  CHECK(smallest < 0.1);
  CHECK(largest > 0.9);
}

TEST_CASE("the whole picture at its own size is only normalised") {
  const auto pixels = ramp(8, 8);
  std::vector<float> out(3 * 8 * 8);
  Resampler(8).run({pixels.data(), 8, 8}, Crop{0, 0, 8, 8, false}, out.data());
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 8; ++x) {
      const auto at = static_cast<size_t>(8 * y + x);
      CHECK(out[at] == Approx(normalised(10 * x, 0)).margin(1e-5));
      CHECK(out[64 + at] == Approx(normalised(10 * y, 1)).margin(1e-5));
      CHECK(out[128 + at] == Approx(normalised(100, 2)).margin(1e-5));
    }
  }
}

TEST_CASE("a flip mirrors left and right") {
  const auto pixels = ramp(8, 8);
  std::vector<float> out(3 * 8 * 8);
  Resampler(8).run({pixels.data(), 8, 8}, Crop{0, 0, 8, 8, true}, out.data());
  CHECK(out[0] == Approx(normalised(70, 0)).margin(1e-5));
  CHECK(out[7] == Approx(normalised(0, 0)).margin(1e-5));
  CHECK(out[64] == Approx(normalised(0, 1)).margin(1e-5));
}

TEST_CASE("a crop is resampled between pixels") {
  const auto pixels = ramp(16, 16);
  std::vector<float> out(3 * 4 * 4);
  // Columns 4, 6, 8, 10 with half a pixel's shift: centres at 4.5, 6.5, ...
  Resampler(4).run({pixels.data(), 16, 16}, Crop{4, 2, 8, 12, false},
                   out.data());
  for (int i = 0; i < 4; ++i) {
    const auto column = static_cast<size_t>(i);
    const auto row = static_cast<size_t>(4 * i);
    CHECK(out[column] == Approx(normalised(45 + 20 * i, 0)).margin(1e-5));
    CHECK(out[16 + row] == Approx(normalised(30 + 30 * i, 1)).margin(1e-5));
  }
}

TEST_CASE("enlarging a single pixel reads nothing beyond it") {
  const std::vector<uint8_t> pixel{50, 60, 70};
  std::vector<float> out(3 * 5 * 5);
  Resampler(5).run({pixel.data(), 1, 1}, Crop{0, 0, 1, 1, true}, out.data());
  CHECK(out.front() == Approx(normalised(50, 0)));
  CHECK(out.back() == Approx(normalised(70, 2)));
}
