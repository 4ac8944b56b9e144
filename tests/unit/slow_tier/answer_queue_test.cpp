#include "bench/slow_tier/answer_queue.h"

#include <atomic>

#include "common/clock.h"
#include "tests/unit/catch.h"

using namespace penstock;

namespace {

constexpr uint64_t kMillisecond = 1'000'000;
const AnswerTimes kSlow(20 * kMillisecond, 1'000'000);

}  // namespace

TEST_CASE("no answer comes before its time, and latencies overlap") {
  std::vector<uint64_t> given_ns;  // written by the single answering thread
  std::atomic<int> left{50};
  const uint64_t began_ns = monotonic_ns();
  AnswerQueue queue(kSlow, 2);
  for (int i = 0; i < 50; ++i) {
    queue.add(began_ns, [&given_ns, &left] {
      return SlowAnswer{0, [&given_ns, &left] {
                          given_ns.push_back(monotonic_ns());
                          --left;
                        }};
    });
  }
  while (left > 0) std::this_thread::yield();
  for (const uint64_t at_ns : given_ns) {
    CHECK(at_ns >= began_ns + 20 * kMillisecond);
    CHECK(at_ns <
          began_ns +
              500 * kMillisecond);  // 50 latencies in sequence take a second
  }
}

TEST_CASE("a later answer does not delay an earlier one") {
  std::atomic<int> order{0};
  std::atomic<int> large{0};
  std::atomic<int> small{0};
  AnswerQueue queue(kSlow, 1);
  const uint64_t now_ns = monotonic_ns();
  queue.add(now_ns, [&] {
    return SlowAnswer{200'000, [&] { large = ++order; }};  // 0.2 s
  });
  queue.add(now_ns, [&] { return SlowAnswer{0, [&] { small = ++order; }}; });
  while (large == 0) std::this_thread::yield();
  CHECK(small == 1);
  CHECK(large == 2);
}

TEST_CASE("the end of the queue gives every answer at once") {
  int given = 0;
  const uint64_t began_ns = monotonic_ns();
  {
    AnswerQueue queue(AnswerTimes(3600'000 * kMillisecond, 1), 3);
    for (int i = 0; i < 100; ++i) {
      queue.add(began_ns, [&given] {
        return SlowAnswer{1, [&given] { ++given; }};
      });
    }
  }
  CHECK(given == 100);
  CHECK(monotonic_ns() < began_ns + 10'000 * kMillisecond);
}
