// A decoded picture in memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// Limits: 65,500 pixels a side (libjpeg's limit) and 256 Mpixel in all.
inline constexpr int kMaxSidePixels = 65500;
inline constexpr uint64_t kMaxPixels = 256u << 20;

// Rows of 8-bit R, G, B without padding. The decoder owns the memory; valid
// until its next call.
struct ImageView {
  const uint8_t* pixels = nullptr;
  int width = 0;   // > 0
  int height = 0;  // > 0

  const uint8_t* row(int y) const {
    return pixels + static_cast<size_t>(y) * static_cast<size_t>(width) * 3;
  }
};

struct ImageSize {
  int width = 0;
  int height = 0;
};

}  // namespace penstock
