#include "exchange/transport/thread_ranks.h"

#include <array>
#include <atomic>
#include <numeric>

#include "tests/unit/catch.h"
#include "tests/unit/exchange/rank_threads.h"

using namespace penstock::exchange;
using namespace penstock::exchange::test;

namespace {

template <class T, size_t kCount>
std::span<const std::byte> bytes(const std::array<T, kCount>& values) {
  return std::as_bytes(std::span(values));
}
template <class T, size_t kCount>
std::span<std::byte> room(std::array<T, kCount>& values) {
  return std::as_writable_bytes(std::span(values));
}

}  // namespace

TEST_CASE("messages of a sender and tag arrive in order, and whole") {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    CAPTURE(ranks);
    std::atomic<int> right = 0;
    as_ranks(ranks, [&](Transport& transport) {
      const int to = (transport.rank() + 1) % ranks;
      const int from = (transport.rank() + ranks - 1) % ranks;
      for (int i = 0; i < 100; ++i) {
        const std::array<int, 2> one{transport.rank(), i}, two{i, -i};
        std::array<int, 3> got{}, other{};
        size_t received = 0;
        const auto second = transport.receive(from, 2, room(other));
        const auto sends_two = transport.send(to, 2, bytes(two));
        const auto sends_one = transport.send(to, 1, bytes(one));
        const auto first = transport.receive(from, 1, room(got));
        const bool is_whole =
            wait_for(transport, first, &received) && received == sizeof one &&
            wait_for(transport, second) && wait_for(transport, sends_one) &&
            wait_for(transport, sends_two);
        right += is_whole && got == std::array{from, i, 0} &&
                         other == std::array{i, -i, 0}
                     ? 1
                     : 0;
      }
    });
    CHECK(right == 100 * ranks);
  }
}

TEST_CASE("all ranks have what each gave, and the sum, the same bits") {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    CAPTURE(ranks);
    std::vector<std::vector<float>> sums(size_t(ranks) * 50);
    std::atomic<int> right = 0;
    as_ranks(ranks, [&](Transport& transport) {
      for (size_t i = 0; i < 50; ++i) {
        const std::array<int, 1> mine{transport.rank() * 1000 + int(i)};
        std::vector<int> all(static_cast<size_t>(ranks));
        std::vector<float> values(5, 0.1f * float(transport.rank() + 1));
        const auto gather = transport.allgather(
            bytes(mine), std::as_writable_bytes(std::span(all)));
        const auto sum = transport.allreduce_sum(values);
        // The later one is asked for first.
        bool is_right = wait_for(transport, sum) && wait_for(transport, gather);
        for (int rank = 0; rank < ranks; ++rank) {
          is_right = is_right && all[size_t(rank)] == rank * 1000 + int(i);
        }
        right += is_right ? 1 : 0;
        sums[size_t(transport.rank()) * 50 + i] = values;
      }
    });
    CHECK(right == 50 * ranks);
    for (const auto& values : sums) {
      CHECK(values == sums[0]);
      CHECK(values[4] == Approx(0.05 * ranks * (ranks + 1)));
    }
  }
}

TEST_CASE("a message that is too long for its room is an error there") {
  as_ranks(2, [](Transport& transport) {
    std::array<int, 2> values{};
    if (transport.rank() == 0) {
      if (!wait_for(transport, transport.send(1, 1, bytes(values)))) throw 1;
    } else {
      const auto request =
          transport.receive(0, 1, room(values).first(sizeof(int)));
      if (wait_for(transport, request)) throw 1;
    }
  });
}

TEST_CASE("ranks that begin different things are told, all of them") {
  as_ranks(3, [](Transport& transport) {
    std::array<float, 4> values{}, all[3];
    const auto mine = std::span(values).first(transport.rank() == 1 ? 3 : 4);
    if (wait_for(transport, transport.allreduce_sum(mine))) throw 1;
    const auto sum_or_not =
        transport.rank() == 2
            ? transport.allreduce_sum(values)
            : transport.allgather(bytes(values),
                                  std::as_writable_bytes(std::span(all)));
    if (wait_for(transport, sum_or_not)) throw 1;
  });
}

TEST_CASE("what a rank does not do is not done, and holds up no call") {
  ThreadRanks group(2);
  const auto alone = group.transport(0), other = group.transport(1);
  alone->reserve(2);
  other->reserve(2);
  std::array<int, 1> value{};
  const auto request = alone->receive(1, 0, room(value));
  REQUIRE(request);
  for (int i = 0; i < 10; ++i) CHECK_FALSE(*alone->test(*request));
  REQUIRE(alone->receive(1, 0, room(value)));
  const auto more = alone->receive(1, 0, room(value));
  REQUIRE_FALSE(more);
  CHECK(more.error().message == "more than 2 operations of a rank at once");
}
