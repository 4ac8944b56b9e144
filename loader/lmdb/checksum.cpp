#include "loader/lmdb/checksum.h"

// Compiled in: nothing to link, and nothing that has to be installed.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace penstock::lmdb {

uint64_t checksum(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace penstock::lmdb
