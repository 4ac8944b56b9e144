// WebP pictures through libwebp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "common/result.h"
#include "loader/image.h"

namespace penstock {

// One decoder per thread; its buffer grows to the largest picture seen.
class WebpDecoder {
 public:
  // Decodes to RGB; transparency is dropped. The view is valid until the next
  // call.
  // Errors: kInvalidArgument  no WebP, damaged, cut short, animated, or beyond
  //                           image.h's bounds
  //         kLimit            no memory
  [[nodiscard]] Result<ImageView> decode(std::span<const uint8_t> file);

 private:
  std::unique_ptr<uint8_t[]> pixels_;
  uint64_t capacity_bytes_ = 0;
};

}  // namespace penstock
