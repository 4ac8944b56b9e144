// Parses binary PPM (P6) pictures. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "common/result.h"
#include "loader/picture/image.h"

namespace penstock {

// A view of the picture in the file's bytes, without a copy. Comments in the
// header are allowed; bytes after the pixels are ignored.
// Errors: kInvalidArgument  not P6; a side of 0 or beyond image.h's limits; a
//                           maximum other than 255; fewer bytes than the
//                           header requires
[[nodiscard]] Result<ImageView> parse_ppm(std::span<const uint8_t> file);

}  // namespace penstock
