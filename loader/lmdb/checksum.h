// XXH3, 64 bits: finds damage, not forgery.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock::lmdb {

uint64_t checksum(std::string_view bytes);

}  // namespace penstock::lmdb
