#include "common/checksum.h"

// Compiled in: nothing to link, and nothing that has to be installed.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace penstock {

// With seed 0 the same as XXH3_64bits().
uint64_t checksum(std::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace penstock
