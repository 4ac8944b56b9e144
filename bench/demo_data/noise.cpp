#include "bench/demo_data/noise.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// SplitMix64, reduced to [-128, 127].
int hashed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return static_cast<int>((x ^ (x >> 31)) & 255) - 128;
}

// Noise of one scale: random values on a grid, bilinear in between.
class Octave {
 public:
  Octave(uint64_t seed, int width, int cell_pixels, float amplitude)
      : seed_(seed),
        cell_(cell_pixels),
        amplitude_(amplitude / 128.0f),
        width_(width) {}

  // Adds the octave's row y to sums.
  void add_row(int y, std::vector<float>& sums) {
    const int grid_y = y / cell_;
    if (grid_y != grid_y_) load_rows(grid_y);
    const float down =
        static_cast<float>(y % cell_) / static_cast<float>(cell_);
    const float step = 1.0f / static_cast<float>(cell_);
    for (int x = 0, grid_x = 0; x < width_; ++grid_x) {
      const auto i = static_cast<size_t>(grid_x);
      const float left = upper_[i] + down * (lower_[i] - upper_[i]);
      const float right =
          upper_[i + 1] + down * (lower_[i + 1] - upper_[i + 1]);
      float value = left;
      const float slope = (right - left) * step;
      const int end = std::min(width_, x + cell_);
      for (; x < end; ++x, value += slope) {
        sums[static_cast<size_t>(x)] += value;
      }
    }
  }

 private:
  void load_rows(int grid_y) {
    const auto columns = static_cast<size_t>(width_ / cell_) + 2;
    upper_.resize(columns);
    lower_.resize(columns);
    for (size_t i = 0; i < columns; ++i) {
      upper_[i] = amplitude_ * at(i, grid_y);
      lower_[i] = amplitude_ * at(i, grid_y + 1);
    }
    grid_y_ = grid_y;
  }
  float at(size_t x, int y) const {
    const uint64_t place = (static_cast<uint64_t>(y) << 32) + x;
    return static_cast<float>(hashed(seed_ + place * 0x9e3779b97f4a7c15u));
  }

  uint64_t seed_;
  int cell_;
  float amplitude_;
  int width_;
  int grid_y_ = -1;
  std::vector<float> upper_;
  std::vector<float> lower_;
};

// Amplitudes grow with the cell size, like a photograph's spectrum.
std::vector<Octave> octaves(uint64_t seed, int width, int smallest,
                            int largest) {
  std::vector<Octave> all;
  for (int cell = smallest; cell <= largest; cell *= 2) {
    const float amplitude = 6.0f * std::sqrt(static_cast<float>(cell));
    all.emplace_back(seed * 1000003 + static_cast<uint64_t>(cell), width, cell,
                     amplitude);
  }
  return all;
}

uint8_t to_byte(float value) {
  return static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f));
}

}  // namespace

std::vector<uint8_t> noise_picture(int width, int height, uint64_t seed) {
  const auto columns = static_cast<size_t>(width);
  std::vector<uint8_t> pixels(columns * static_cast<size_t>(height) * 3);
  auto brightness = octaves(seed * 3, width, 1, 64);
  auto warm = octaves(seed * 3 + 1, width, 16, 64);
  auto cool = octaves(seed * 3 + 2, width, 16, 64);
  std::vector<float> rows[3];
  uint8_t* pixel = pixels.data();
  for (int y = 0; y < height; ++y) {
    for (auto& row : rows) row.assign(columns, 0.0f);
    for (Octave& octave : brightness) octave.add_row(y, rows[0]);
    for (Octave& octave : warm) octave.add_row(y, rows[1]);
    for (Octave& octave : cool) octave.add_row(y, rows[2]);
    for (size_t x = 0; x < columns; ++x) {
      const float base = 128.0f + rows[0][x];
      *pixel++ = to_byte(base + rows[1][x]);
      *pixel++ = to_byte(base);
      *pixel++ = to_byte(base + rows[2][x]);
    }
  }
  return pixels;
}

}  // namespace penstock
