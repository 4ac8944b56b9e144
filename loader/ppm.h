// Binary PPM (P6) records. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "common/result.h"
#include "loader/image.h"

namespace penstock {

// Finds the picture in the text of a file, without copying it. Comments in the
// header are allowed; what follows the pixels is ignored.
// Errors: kInvalidArgument  not P6; a side of 0 or beyond image.h's bounds; a
//                           maximum other than 255; fewer bytes than the
//                           header says
[[nodiscard]] Result<ImageView> parse_ppm(std::span<const uint8_t> file);

}  // namespace penstock
