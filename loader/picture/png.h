// Decodes PNG pictures with libpng.
#pragma once

#include <cstdint>
#include <span>

#include "common/result.h"
#include "loader/picture/image.h"
#include "loader/picture/pixel_buffer.h"

namespace penstock {

// Decodes any colour type and depth to RGB, like PIL's convert("RGB"): uses the
// upper 8 of 16 bits, drops transparency, and ignores gamma and colour
// profiles. Only 16-bit grey differs: PIL clips it at 255. The view is valid
// until the buffer's next reserve().
// Errors: kInvalidArgument  not a PNG, damaged, cut short, or beyond image.h's
//                           limits
//         kLimit            the buffer's
[[nodiscard]] Result<ImageView> decode_png(std::span<const uint8_t> file,
                                           PixelBuffer& buffer);

}  // namespace penstock
