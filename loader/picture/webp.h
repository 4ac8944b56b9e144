// Decodes WebP pictures with libwebp.
#pragma once

#include <cstdint>
#include <span>

#include "common/result.h"
#include "loader/picture/image.h"
#include "loader/picture/pixel_buffer.h"

namespace penstock {

// Decodes to RGB; transparency is dropped. The view is valid until the buffer's
// next reserve().
// Errors: kInvalidArgument  not a WebP, damaged, cut short, animated, or beyond
//                           image.h's limits
//         kLimit            the buffer's, or no memory
[[nodiscard]] Result<ImageView> decode_webp(std::span<const uint8_t> file,
                                            PixelBuffer& buffer);

}  // namespace penstock
