#include "loader/lmdb/mpi/token_order.h"

#include <set>
#include <vector>

#include "tests/unit/catch.h"

using namespace penstock::lmdb;

namespace {

// Simulates a run: every permitted reader starts, and `pick` selects the next
// to end.
void play(const TokenOrder& order, uint32_t pick) {
  std::vector<uint64_t> turn(order.readers, 0);
  std::multiset<std::pair<uint32_t, uint64_t>> tokens;  // reader and turn
  std::vector<uint32_t> reading;
  uint64_t done = 0;
  while (done < order.readers * order.turns) {
    for (uint32_t reader = 0; reader < order.readers; ++reader) {
      if (turn[reader] == order.turns) continue;
      bool is_reading = false;
      for (const uint32_t other : reading) is_reading |= other == reader;
      if (is_reading) continue;
      const auto found = tokens.find({reader, turn[reader]});
      if (order.from(reader, turn[reader]) && found == tokens.end()) continue;
      if (found != tokens.end()) tokens.erase(found);
      reading.push_back(reader);
    }
    REQUIRE(!reading.empty());
    REQUIRE(reading.size() <= order.width);
    const size_t which = pick++ % reading.size();
    const uint32_t reader = reading[which];
    reading.erase(reading.begin() + static_cast<long>(which));
    if (const auto to = order.to(reader, turn[reader])) {
      REQUIRE(*to < order.readers);
      const uint64_t its_turn = *to > reader ? turn[reader] : turn[reader] + 1;
      REQUIRE(order.from(*to, its_turn) == reader);
      tokens.insert({*to, its_turn});
    }
    ++turn[reader];
    ++done;
  }
  CHECK(tokens.empty());
}

}  // namespace

TEST_CASE("all readers finish, at most `width` of them at once") {
  for (uint32_t readers = 1; readers <= 7; ++readers) {
    for (uint32_t width = 1; width <= readers; ++width) {
      for (uint32_t pick = 0; pick < 3; ++pick) {
        play({readers, width, 5}, pick);
      }
    }
  }
}
