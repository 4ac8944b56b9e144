#include "loader/picture/augment.h"

#include "tests/unit/catch.h"

using penstock::centre_square;
using penstock::Crop;
using penstock::ImageSize;
using penstock::Random;
using penstock::random_crop;

TEST_CASE("the centred square is seven eighths of the smaller side") {
  const auto check = [](ImageSize size, double x, double y, double side) {
    const Crop crop = centre_square(size);
    CHECK(crop.x == x);
    CHECK(crop.y == y);
    CHECK(crop.width == side);
    CHECK(crop.height == side);
    CHECK_FALSE(crop.flip);
  };
  check({256, 256}, 16, 16, 224);
  check({500, 375}, 85.9375, 23.4375, 328.125);
  check({375, 500}, 23.4375, 85.9375, 328.125);
  check({1, 1}, 0.0625, 0.0625, 0.875);
  check({65500, 1}, 32749.5625, 0.0625, 0.875);
}

TEST_CASE("crops lie inside the picture, with bounded area") {
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

TEST_CASE("half of the crops are flipped, and their areas vary") {
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
