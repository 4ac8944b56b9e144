// When a cache may allocate memory and when it must release it.
#include "loader/cache/memory_watch.h"

#include <thread>
#include <vector>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kLimit = 1600 * kMiB;
constexpr uint64_t kFree = kLimit / MemoryWatch::kFreePart;  // 100 MiB
constexpr uint64_t kStart_ns = 1'000'000'000;
constexpr uint64_t kPeriod_ns = MemoryWatch::kPeriod_ns;

// Free memory set by the test, and the number of readings.
struct Group {
  std::optional<MemoryRoom> room = MemoryRoom{kLimit, kLimit};
  int looks = 0;

  void leave(uint64_t left_bytes) { room->left_bytes = left_bytes; }
  MemoryWatch watch() {
    return MemoryWatch([this] {
      ++looks;
      return room;
    });
  }
};

}  // namespace

TEST_CASE("without a limit there is room, and no memory to give back") {
  uint64_t filled = 0;
  Group group;
  group.room.reset();
  MemoryWatch watch = group.watch();
  filled += 1 << 30;
  CHECK(watch.room_bytes(kStart_ns, {filled, 0}) == UINT64_MAX);
  CHECK(watch.excess_bytes(kStart_ns, {filled, 0}) == 0);
}

TEST_CASE("a sixteenth of the limit stays free") {
  uint64_t filled = 0;
  Group group;
  group.leave(150 * kMiB);
  MemoryWatch watch = group.watch();
  CHECK(watch.room_bytes(kStart_ns, {filled, 0}) == 50 * kMiB);
  group.leave(kFree);
  CHECK(watch.room_bytes(kStart_ns + kPeriod_ns, {filled, 0}) == 0);
  group.leave(0);
  CHECK(watch.room_bytes(kStart_ns + 2 * kPeriod_ns, {filled, 0}) == 0);
}

TEST_CASE("memory filled since the last reading counts") {
  uint64_t filled = 0;
  Group group;
  group.leave(150 * kMiB);
  MemoryWatch watch = group.watch();
  REQUIRE(watch.room_bytes(kStart_ns, {filled, 0}) == 50 * kMiB);
  filled += kMiB;
  CHECK(watch.room_bytes(kStart_ns, {filled, 0}) == 49 * kMiB);
  filled += kMiB;
  CHECK(watch.room_bytes(kStart_ns, {filled, 0}) == 48 * kMiB);
}

TEST_CASE("memory is read once a period, and again after enough bytes") {
  uint64_t filled = 0;
  Group group;
  MemoryWatch watch = group.watch();
  (void)watch.room_bytes(kStart_ns, {filled, 0});
  const int looks = group.looks;
  for (uint64_t i = 0; i < 1000; ++i) {
    (void)watch.room_bytes(kStart_ns + i, {filled, 0});
    (void)watch.excess_bytes(kStart_ns + i, {filled, 0});
  }
  CHECK(group.looks == looks);
  (void)watch.excess_bytes(kStart_ns + kPeriod_ns, {filled, 0});
  CHECK(group.looks == looks + 1);
  filled += MemoryWatch::kPeriod_bytes;
  (void)watch.room_bytes(kStart_ns + kPeriod_ns + 1, {filled, 0});
  CHECK(group.looks == looks + 2);
  (void)watch.room_bytes(kStart_ns + kPeriod_ns + 2, {filled, 0});
  CHECK(group.looks == looks + 2);
}

TEST_CASE("memory filled by any process of a job counts for each of them") {
  Group group;
  group.room = MemoryRoom{64 * kMiB, 8 * kMiB};  // 4 MiB stay free
  MemoryWatch watch = group.watch();
  REQUIRE(watch.room_bytes(kStart_ns, {100 * kMiB, 100 * kMiB}) == 4 * kMiB);
  CHECK(watch.room_bytes(kStart_ns, {103 * kMiB, 103 * kMiB}) == kMiB);
  // Less than before: other processes released memory, which the next reading
  // shows.
  CHECK(watch.room_bytes(kStart_ns, {90 * kMiB, 90 * kMiB}) == 4 * kMiB);
}

TEST_CASE("memory is given back once half of the free reserve is used") {
  uint64_t filled = 0;
  Group group;
  MemoryWatch watch = group.watch();
  uint64_t now_ns = kStart_ns;
  const auto excess_with = [&](uint64_t left_bytes) {
    group.leave(left_bytes);
    return watch.excess_bytes(now_ns += kPeriod_ns, {filled, 0});
  };
  CHECK(excess_with(kLimit) == 0);
  CHECK(excess_with(kFree) == 0);
  CHECK(excess_with(kFree / 2) == 0);
  CHECK(excess_with(kFree / 2 - 1) == kFree / 2 + 1);
  CHECK(excess_with(0) == kFree);
  CHECK(excess_with(kFree) == 0);
}

TEST_CASE("a lowered or lifted limit takes effect") {
  uint64_t filled = 0;
  Group group;
  group.leave(800 * kMiB);
  MemoryWatch watch = group.watch();
  REQUIRE(watch.room_bytes(kStart_ns, {filled, 0}) == 700 * kMiB);
  group.room = MemoryRoom{160 * kMiB, 0};
  CHECK(watch.excess_bytes(kStart_ns + kPeriod_ns, {filled, 0}) == 10 * kMiB);
  CHECK(watch.room_bytes(kStart_ns + kPeriod_ns, {filled, 0}) == 0);
  group.room.reset();
  CHECK(watch.room_bytes(kStart_ns + 2 * kPeriod_ns, {filled, 0}) ==
        UINT64_MAX);
  CHECK(watch.excess_bytes(kStart_ns + 2 * kPeriod_ns, {filled, 0}) == 0);
}

TEST_CASE("of concurrent threads one reads the memory") {
  uint64_t filled = 0;
  std::atomic<int> looks = 0;
  MemoryWatch watch([&] {
    ++looks;
    return std::optional(MemoryRoom{kLimit, kLimit});
  });
  looks = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 1; i <= 100; ++i) {
        (void)watch.room_bytes(kStart_ns + i * kPeriod_ns, {filled, 0});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(looks >= 100);
  CHECK(looks <= 110);  // late threads have an older time
}
