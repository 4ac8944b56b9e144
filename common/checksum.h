// XXH3, 64 bits: finds damage, not forgery.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock {

// seed: the checksum of what stands before, where bytes come in pieces.
uint64_t checksum(std::string_view bytes, uint64_t seed = 0);

}  // namespace penstock
