#include "common/checksum.h"

// Compiles xxHash in: no library to link or to install at run time.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace penstock {

// With seed 0 equal to XXH3_64bits().
uint64_t checksum(std::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace penstock
