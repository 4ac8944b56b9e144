// WebP pictures through libwebp.
#pragma once

#include <cstdint>
#include <span>

#include "common/result.h"
#include "loader/image.h"
#include "loader/pixel_buffer.h"

namespace penstock {

// Decodes to RGB; transparency is dropped. The view is valid while the buffer's
// room is.
// Errors: kInvalidArgument  no WebP, damaged, cut short, animated, or beyond
//                           image.h's bounds
//         kLimit            the buffer's, or no memory
[[nodiscard]] Result<ImageView> decode_webp(std::span<const uint8_t> file,
                                            PixelBuffer& buffer);

}  // namespace penstock
