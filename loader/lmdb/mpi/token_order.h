// Staggering: in which order the nodes' readers read. Pure.
//
// Reader i of M may read its turn once reader i - width has read; of width
// tokens each goes around the readers so, and no more than width read at once.
#pragma once

#include <cstdint>
#include <optional>

namespace penstock::lmdb {

struct TokenOrder {
  uint32_t readers = 1;
  uint32_t width = 1;  // how many may read at once; 1 to readers
  uint64_t turns = 0;  // of each reader

  // Whose token reader's turn waits for; none: it may begin.
  std::optional<uint32_t> from(uint32_t reader, uint64_t turn) const {
    if (reader >= width) return reader - width;
    if (turn == 0) return std::nullopt;
    return reader + readers - width;
  }
  // Who waits for reader's token after this turn; none: nobody.
  std::optional<uint32_t> to(uint32_t reader, uint64_t turn) const {
    if (reader + width < readers) return reader + width;
    if (turn + 1 >= turns) return std::nullopt;
    return reader + width - readers;
  }
};

}  // namespace penstock::lmdb
