// PNG pictures through libpng.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "common/result.h"
#include "loader/image.h"

namespace penstock {

// One decoder per thread; its buffer grows to the largest picture seen.
class PngDecoder {
 public:
  // Decodes to RGB, from any colour type and depth. Of 16 bits the upper 8
  // count, transparency is dropped, and gamma and colour profiles are left
  // alone, all as PIL's convert("RGB") has it (but for grey of 16 bits, which
  // PIL cuts off at 255). The view is valid until the next call.
  // Errors: kInvalidArgument  no PNG, damaged, cut short, or beyond image.h's
  //                           bounds
  //         kLimit            no memory
  [[nodiscard]] Result<ImageView> decode(std::span<const uint8_t> file);

 private:
  std::unique_ptr<uint8_t[]> pixels_;
  uint64_t capacity_bytes_ = 0;
};

}  // namespace penstock
