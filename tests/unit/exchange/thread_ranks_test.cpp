#include "exchange/transport/thread_ranks.h"

#include <array>
#include <atomic>
#include <mutex>

#include "tests/unit/catch.h"
#include "tests/unit/exchange/rank_threads.h"

using namespace penstock::exchange;
using namespace penstock::exchange::test;

namespace {

// A case of transport_cases.h; returns a rank's error, or "".
using Case = std::string (*)(Transport&);
void check_case(Case one, const std::vector<int>& counts) {
  for (const int ranks : counts) {
    CAPTURE(ranks);
    std::mutex mutex;
    std::vector<std::string> wrong;
    as_ranks(ranks, [&](Transport& transport) {
      const std::string found = one(transport);
      const std::lock_guard lock(mutex);
      wrong.push_back(found);
    });
    CHECK(wrong == std::vector<std::string>(size_t(ranks)));
  }
}

}  // namespace

TEST_CASE("messages of a sender and tag arrive in order and complete") {
  check_case(messages_arrive, {1, 2, 3, 5, 8});
}

TEST_CASE("all ranks have every rank's values") {
  check_case(all_have_all, {1, 2, 3, 5, 8});
}

TEST_CASE("a message longer than the receiver's room is an error there") {
  check_case(too_long_is_an_error, {2});
}

TEST_CASE(
    "operations without their counterpart stay incomplete and block no call") {
  check_case(nothing_waits, {1, 2, 3});
}

TEST_CASE("different sizes are an error on all ranks") {
  std::atomic<int> told = 0;
  as_ranks(3, [&](Transport& transport) {
    std::array<float, 4> values{}, all[3];
    const auto mine = std::span(values).first(transport.rank() == 1 ? 3 : 4);
    told +=
        wait_for(transport, transport.allgather(bytes_of(mine), room_of(all)))
            ? 0
            : 1;
  });
  CHECK(told == 3);
}

TEST_CASE("operations beyond the reserved number are refused") {
  ThreadRanks group(1);
  const auto alone = group.transport(0);
  alone->reserve(2);
  std::array<int, 1> value{};
  for (int i = 0; i < 2; ++i) REQUIRE(alone->receive(0, 0, room_of(value)));
  const auto more = alone->receive(0, 0, room_of(value));
  REQUIRE_FALSE(more);
  CHECK(more.error().message == "more than 2 operations of a rank at once");
}
