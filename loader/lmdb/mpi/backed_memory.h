// Allocates the pages of mapped memory: of a file in /dev/shm, or anonymous.
#pragma once

#include <cstdint>
#include <span>

#include "common/result.h"

namespace penstock::lmdb {

// On x86 and most other machines. Larger huge pages are not used.
inline constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;

// Bytes from the address to the next possible start of a huge page. That
// depends on the offset in a mapped file, or on the address of anonymous
// memory.
uint64_t bytes_to_huge_page(const uint8_t* address);

// Allocates memory for these bytes. Contents are kept, or zeros are written.
// Uses huge pages if possible: a direct read into one is a single segment for
// the device, otherwise 512.
// Errors: kLimit  no memory
[[nodiscard]] Status back_memory(std::span<uint8_t> bytes);

}  // namespace penstock::lmdb
