// Reused memory for decoded pictures, with a limit.
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <new>
#include <string>

#include "common/result.h"

namespace penstock {

class PixelBuffer {
 public:
  explicit PixelBuffer(uint64_t most_bytes = UINT64_MAX)
      : most_bytes_(most_bytes) {}

  // Memory for `bytes`, valid until the next call. Earlier contents are lost.
  // working_bytes: memory that the decoder takes in addition.
  // Errors: kLimit  beyond the limit, or no memory
  [[nodiscard]] Result<uint8_t*> reserve(uint64_t bytes,
                                         uint64_t working_bytes = 0) {
    if (bytes + working_bytes > most_bytes_) {
      return Error{Code::kLimit, 0,
                   "takes " + std::to_string(bytes + working_bytes) +
                       " bytes when decoded; the memory bound leaves " +
                       std::to_string(most_bytes_)};
    }
    if (bytes <= capacity_bytes_) return memory_.get();
    capacity_bytes_ = 0;
    memory_.reset(new (std::nothrow) uint8_t[bytes]);
    if (!memory_) return Error{Code::kLimit, ENOMEM, "out of memory"};
    capacity_bytes_ = bytes;
    return memory_.get();
  }

 private:
  const uint64_t most_bytes_;
  std::unique_ptr<uint8_t[]> memory_;
  uint64_t capacity_bytes_ = 0;
};

}  // namespace penstock
