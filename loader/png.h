// PNG pictures through libpng.
#pragma once

#include <cstdint>
#include <span>

#include "common/result.h"
#include "loader/image.h"
#include "loader/pixel_buffer.h"

namespace penstock {

// Decodes to RGB, from any colour type and depth. Of 16 bits the upper 8 count,
// transparency is dropped, and gamma and colour profiles are left alone, all as
// PIL's convert("RGB") has it (but for grey of 16 bits, which PIL cuts off at
// 255). The view is valid while the buffer's room is.
// Errors: kInvalidArgument  no PNG, damaged, cut short, or beyond image.h's
//                           bounds
//         kLimit            the buffer's
[[nodiscard]] Result<ImageView> decode_png(std::span<const uint8_t> file,
                                           PixelBuffer& buffer);

}  // namespace penstock
