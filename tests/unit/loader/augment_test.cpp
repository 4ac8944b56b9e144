#include "loader/augment.h"

#include "tests/unit/catch.h"

using penstock::Crop;
using penstock::ImageSize;
using penstock::Random;
using penstock::random_crop;

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
