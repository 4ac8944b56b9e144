// Encodes pictures as JPEG files, with libjpeg.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/result.h"

namespace penstock {

// Chroma is subsampled (4:2:0), as in camera files. pixels: rows of R, G, B
// without padding. quality: 1 to 100.
// Errors: kLimit  out of memory
[[nodiscard]] Result<std::vector<uint8_t>> encode_jpeg(
    std::span<const uint8_t> pixels, int width, int height, int quality);

}  // namespace penstock
