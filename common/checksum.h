// XXH3, 64 bits: detects damage, not forgery.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock {

// seed: for data in pieces, the checksum of the preceding pieces.
uint64_t checksum(std::string_view bytes, uint64_t seed = 0);

}  // namespace penstock
