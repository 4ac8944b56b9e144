#include "loader/picture/resampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/unit/catch.h"

using penstock::best_kernel;
using penstock::Crop;
using penstock::ImageView;
using penstock::portable_kernel;
using penstock::Random;
using penstock::Resampler;

namespace {

constexpr float kMeans[3] = {0.485f, 0.456f, 0.406f};
constexpr float kDeviations[3] = {0.229f, 0.224f, 0.225f};

float normalised(double byte, int channel) {
  return static_cast<float>((byte / 255 - kMeans[channel]) /
                            kDeviations[channel]);
}

double byte_of(float value, int channel) {
  return (static_cast<double>(value) * kDeviations[channel] + kMeans[channel]) *
         255;
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

std::vector<uint8_t> noise(int width, int height, Random& random) {
  std::vector<uint8_t> pixels(3 * static_cast<size_t>(width) *
                              static_cast<size_t>(height));
  for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(random.next());
  return pixels;
}

// A picture of random size and noise, and a part of it, in eighths of pixels.
struct RandomCase {
  explicit RandomCase(uint64_t seed) : random(seed) {
    width = static_cast<int>(std::exp(random.uniform(0, 6.5)));
    height = static_cast<int>(std::exp(random.uniform(0, 6.5)));
    pixels = noise(width, height, random);
    crop.x = eighths(width - 0.125);
    crop.y = eighths(height - 0.125);
    crop.width = 0.125 + eighths(width - crop.x - 0.125);
    crop.height = 0.125 + eighths(height - crop.y - 0.125);
    crop.flip = random.uniform() < 0.5;
    out_side = 1 + static_cast<int>(random.below(40));
  }
  double eighths(double high) {
    return static_cast<double>(
               random.below(static_cast<uint64_t>(8 * high) + 1)) /
           8;
  }
  std::vector<float> resampled(const penstock::ResampleKernel& kernel) const {
    std::vector<float> out(3 * static_cast<size_t>(out_side) * out_side);
    Resampler(out_side, kernel)
        .run({pixels.data(), width, height}, crop, out.data());
    return out;
  }

  Random random;
  int width;
  int height;
  std::vector<uint8_t> pixels;
  Crop crop;
  int out_side;
};

// Pillow's filter, slowly: the pixels' weights for output i of a line.
std::vector<double> exact_weights(double begin, double length, int out_side,
                                  int i, int count) {
  const double step = length / out_side;
  const double support = std::max(step, 1.0);
  const double centre = begin + (i + 0.5) * step;
  std::vector<double> weights(static_cast<size_t>(count));
  double sum = 0;
  for (int at = static_cast<int>(begin); at < begin + length; ++at) {
    double& weight = weights[static_cast<size_t>(at)];
    weight = std::max(0.0, 1 - std::abs(at + 0.5 - centre) / support);
    sum += weight;
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

// The exact value of one output, in steps of a pixel.
double exact(const RandomCase& it, int channel, int y, int x) {
  const int from_left = it.crop.flip ? it.out_side - 1 - x : x;
  const auto down =
      exact_weights(it.crop.y, it.crop.height, it.out_side, y, it.height);
  const auto across =
      exact_weights(it.crop.x, it.crop.width, it.out_side, from_left, it.width);
  double sum = 0;
  for (size_t row = 0; row < down.size(); ++row) {
    if (down[row] == 0) continue;
    for (size_t column = 0; column < across.size(); ++column) {
      const size_t at = row * across.size() + column;
      sum += down[row] * across[column] *
             it.pixels[3 * at + static_cast<size_t>(channel)];
    }
  }
  return sum;
}

// The bound that resampler.h states.
double bound(const RandomCase& it) {
  const auto taps_of = [&](double length) {
    return std::ceil(2 * std::max(length / it.out_side, 1.0));
  };
  return (taps_of(it.crop.width) + taps_of(it.crop.height) + 1) / 64;
}

}  // namespace

TEST_CASE("the portable kernel and the best one give the same bits") {
  const uint64_t seed = GENERATE(range(0, 300));
  CAPTURE(seed);
  const RandomCase it(seed);
  const auto plain = it.resampled(portable_kernel());
  const auto best = it.resampled(best_kernel());
  REQUIRE(std::memcmp(plain.data(), best.data(),
                      plain.size() * sizeof(float)) == 0);
}

TEST_CASE("any crop is within the stated bound of the exact filter") {
  const uint64_t seed = GENERATE(range(0, 150));
  RandomCase it(seed);
  CAPTURE(seed, it.width, it.height, it.crop.x, it.crop.y, it.crop.width,
          it.crop.height, it.out_side);
  const auto out = it.resampled(best_kernel());
  for (int probe = 0; probe < 20; ++probe) {
    const auto at = it.random.below(out.size());
    const auto side = static_cast<uint64_t>(it.out_side);
    const int channel = static_cast<int>(at / side / side);
    const int y = static_cast<int>(at / side % side);
    const int x = static_cast<int>(at % side);
    CAPTURE(channel, y, x);
    REQUIRE(std::abs(byte_of(out[at], channel) - exact(it, channel, y, x)) <=
            bound(it));
  }
}

TEST_CASE("a whole picture at its original size is only normalised") {
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

TEST_CASE("a crop is averaged without pixels from outside it") {
  auto pixels = ramp(16, 16);
  std::vector<float> out(3 * 4 * 4);
  const Crop crop{4, 2, 8, 12, false};
  Resampler(4).run({pixels.data(), 16, 16}, crop, out.data());
  // Away from the edges a ramp's average is its value at the centre: columns
  // 7 and 9 and rows 6.5 and 9.5, half a pixel off.
  const double margin = 0.1 / 255 / 0.224;
  for (int i = 1; i <= 2; ++i) {
    const auto column = static_cast<size_t>(i);
    const auto row = static_cast<size_t>(4 * i);
    CHECK(out[column] == Approx(normalised(45 + 20 * i, 0)).margin(margin));
    CHECK(out[16 + row] == Approx(normalised(30 + 30 * i, 1)).margin(margin));
  }
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 16; ++x) {
      if (x >= 4 && x < 12 && y >= 2 && y < 14) continue;
      pixels[static_cast<size_t>(3 * (16 * y + x))] = 255;
    }
  }
  auto again = out;
  Resampler(4).run({pixels.data(), 16, 16}, crop, again.data());
  CHECK(again == out);
}

TEST_CASE("enlarging a single pixel reads no byte beyond it") {
  const std::vector<uint8_t> pixel{50, 60, 70};
  std::vector<float> out(3 * 5 * 5);
  Resampler(5).run({pixel.data(), 1, 1}, Crop{0, 0, 1, 1, true}, out.data());
  CHECK(out.front() == Approx(normalised(50, 0)));
  CHECK(out.back() == Approx(normalised(70, 2)));
}
