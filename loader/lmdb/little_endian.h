// Reads and writes little-endian numbers at any alignment.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace penstock::lmdb {

static_assert(
    std::endian::native == std::endian::little,
    "LMDB files and their indexes are read on little-endian machines");

template <class Number>
Number get(const uint8_t* from) {
  Number number;
  std::memcpy(&number, from, sizeof number);
  return number;
}

template <class Number>
void put(uint8_t* to, Number number) {
  std::memcpy(to, &number, sizeof number);
}

}  // namespace penstock::lmdb
