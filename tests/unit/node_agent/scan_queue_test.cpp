#include "node_agent/plan/scan_queue.h"

#include <map>
#include <random>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kStart = 1'000'000 * kMs;

}  // namespace

TEST_CASE(
    "a burst of marks gives one scan of each task, 50 ms after the first "
    "mark") {
  ScanQueue queue;
  CHECK_FALSE(queue.next_ns());
  queue.mark(7, 100, kStart);
  queue.mark(7, 200, kStart + 20 * kMs);
  queue.mark(7, 100, kStart + 30 * kMs);
  CHECK(queue.next_ns() == kStart + 50 * kMs);
  CHECK_FALSE(queue.take(kStart + 49 * kMs));
  const auto scan = queue.take(kStart + 50 * kMs);
  REQUIRE(scan);
  CHECK(scan->job == 7);
  CHECK(scan->task == 100);
  queue.done(7, 2 * kMs, kStart + 52 * kMs);
  CHECK(queue.next_ns() == kStart + 92 * kMs);
  CHECK(queue.take(kStart + 92 * kMs)->task == 200);
  CHECK_FALSE(queue.next_ns());
}

TEST_CASE(
    "a scan is followed by a pause of 3 to 20 times its duration, at most 3 "
    "s") {
  const auto [cost_ms, pause_ms] = GENERATE(table<uint64_t, uint64_t>(
      {{1, 50}, {10, 200}, {50, 1000}, {400, 1200}, {20'000, 3000}}));
  ScanQueue queue;
  queue.mark(7, 100, kStart);
  REQUIRE(queue.take(kStart + 50 * kMs));
  const uint64_t end = kStart + 60 * kMs;
  queue.done(7, cost_ms * kMs, end);
  queue.mark(7, 100, end);
  CHECK(queue.next_ns() == end + pause_ms * kMs);
}

TEST_CASE("a job with expensive scans waits behind the others") {
  ScanQueue queue;
  queue.mark(1, 100, kStart);
  REQUIRE(queue.take(kStart + 50 * kMs));
  const uint64_t end = kStart + 450 * kMs;
  queue.done(1, 400 * kMs, end);
  queue.mark(1, 100, end);
  queue.mark(2, 200, end + 500 * kMs);
  CHECK(queue.take(end + 1200 * kMs)->job == 2);
  queue.done(2, kMs, end + 1201 * kMs);
  CHECK(queue.take(end + 1221 * kMs)->job == 1);
}

TEST_CASE("an ended job is not scanned again") {
  ScanQueue queue;
  queue.mark(7, 100, kStart);
  queue.forget(7);
  CHECK_FALSE(queue.next_ns());
  queue.done(7, kMs, kStart);
  queue.mark(7, 100, kStart);
  CHECK(queue.next_ns() == kStart + 50 * kMs);  // of a new job of that number
}

// If the lowest pid or the oldest mark decided, only tasks that fork all the
// time would be scanned.
TEST_CASE("tasks of a job take turns, and leave turns to other jobs") {
  const uint32_t seed = GENERATE(range(1u, 11u));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  ScanQueue queue;
  const int tasks = 2 + int(random() % 100);
  const uint64_t cost = (1 + random() % 20) * kMs;
  constexpr JobId kBusy = 1, kModest = 2;
  uint64_t now = kStart, modest = now;
  std::map<pid_t, uint64_t> scanned;
  for (pid_t task = 1; task <= tasks; ++task) scanned[task] = now;
  queue.mark(kModest, 1, now);
  for (int i = 0; i < 2000; ++i) {
    for (pid_t task = 1; task <= tasks; ++task) queue.mark(kBusy, task, now);
    now = std::max(now, *queue.next_ns());
    const auto scan = queue.take(now);
    REQUIRE(scan);
    now += cost;
    queue.done(scan->job, cost, now);
    (scan->job == kModest ? modest : scanned[scan->task]) = now;
    if (scan->job == kModest) queue.mark(kModest, 1, now);
    // A scan and its pause of each other task, and as many of the other job.
    const uint64_t turn = 21 * cost + 50 * kMs;
    REQUIRE(now - modest <= 10'000 * kMs + 2 * turn);
    for (const auto& [task, last] : scanned) {
      REQUIRE(now - last <= uint64_t(2 * tasks + 2) * turn);
    }
  }
}

// Jobs that fork all the time, with scans of the highest cost, and one that
// forks now and then.
TEST_CASE("a new loader is scanned within 1.7 s, whatever other jobs do") {
  const uint32_t seed = GENERATE(range(1u, 11u));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  ScanQueue queue;
  constexpr JobId kModest = 100;
  uint64_t now = kStart, marked = 0, busy = 0, slowest = 0;
  for (int i = 0; i < 2000; ++i) {
    for (JobId job = 1; job <= 5; ++job) queue.mark(job, pid_t(job), now);
    // The first scans show the costs of the other jobs.
    if (i >= 5 && marked == 0 && random() % 5 == 0) {
      queue.mark(kModest, 1, marked = now);
    }
    now = std::max(now, *queue.next_ns());
    const auto scan = queue.take(now);
    REQUIRE(scan);
    uint64_t cost = kMs;
    if (scan->job != kModest) cost = (100 + random() % 300) * kMs;
    now += cost;
    busy += cost;
    queue.done(scan->job, cost, now);
    if (scan->job != kModest) continue;
    slowest = std::max(slowest, now - marked);
    marked = 0;
  }
  // After one expensive scan that has begun, and the pause that follows it.
  CHECK(slowest <= 1700 * kMs);
  CHECK(busy <= (now - kStart) * 26 / 100);
}
