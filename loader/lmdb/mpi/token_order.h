// Staggering: the order in which the nodes' readers read. Pure.
//
// Reader i may read its turn after reader i - width has read. So `width` tokens
// go around the readers, and at most `width` readers read at the same time.
#pragma once

#include <cstdint>
#include <optional>

namespace penstock::lmdb {

struct TokenOrder {
  uint32_t readers = 1;
  uint32_t width = 1;  // readers that may read at the same time; 1 to readers
  uint64_t turns = 0;  // of each reader

  // The reader whose token this turn waits for; nullopt: it may start at once.
  std::optional<uint32_t> from(uint32_t reader, uint64_t turn) const {
    if (reader >= width) return reader - width;
    if (turn == 0) return std::nullopt;
    return reader + readers - width;
  }
  // The reader that gets the token after this turn; nullopt: none.
  std::optional<uint32_t> to(uint32_t reader, uint64_t turn) const {
    if (reader + width < readers) return reader + width;
    if (turn + 1 >= turns) return std::nullopt;
    return reader + width - readers;
  }
};

}  // namespace penstock::lmdb
