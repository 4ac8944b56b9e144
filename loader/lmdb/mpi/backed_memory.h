// Memory that a file of /dev/shm, or nothing yet, stands behind.
#pragma once

#include <cstdint>
#include <span>

#include "common/result.h"

namespace penstock::lmdb {

// Of x86 and most others. Where they are larger, nothing is gained and nothing
// lost.
inline constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;

// From the address to the next place where a huge page can begin: by its
// offset in the file that is mapped there, by its address where none is.
uint64_t bytes_to_huge_page(const uint8_t* address);

// Has the kernel put memory behind these bytes; it leaves their contents, or
// writes zeros. As huge pages as far as whole ones have room and can be had:
// a read past the page cache into one is one piece for the device, and 512
// otherwise.
// Errors: kLimit  there is none
[[nodiscard]] Status back_memory(std::span<uint8_t> bytes);

}  // namespace penstock::lmdb
