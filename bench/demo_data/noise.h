// Pictures that cost a decoder about as much as photographs: smooth noise at
// several scales. Pure; the same seed gives the same pixels.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

// 8-bit R, G, B, row by row. width, height: 1 to 65500.
std::vector<uint8_t> noise_picture(int width, int height, uint64_t seed);

}  // namespace penstock
