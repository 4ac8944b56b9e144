#include "select_ext/ctld/user_queue.h"

#include <random>

#include "tests/unit/catch.h"

using namespace penstock;
using Catch::Matchers::ContainsSubstring;
using Queue = UserQueue<int>;

namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kSecond = 1000 * kMs;

// What is served now without a cost, in order.
std::vector<int> served(Queue& queue, uint64_t now_ns) {
  std::vector<int> items;
  while (auto next = queue.next(now_ns)) {
    CHECK(next->may_be_served.ok());
    items.push_back(next->item);
  }
  return items;
}

}  // namespace

TEST_CASE("root comes first, and users take turns, each in its own order") {
  Queue queue;
  for (int i = 1; i <= 3; ++i) REQUIRE(queue.put(1000, 10 + i, kSecond).ok());
  for (int i = 1; i <= 2; ++i) REQUIRE(queue.put(1001, 20 + i, kSecond).ok());
  REQUIRE(queue.put(0, 1, kSecond).ok());
  CHECK(served(queue, kSecond) == std::vector{1, 11, 21, 12, 22, 13});
  CHECK(queue.size() == 0);
}

TEST_CASE("a user beyond its budget waits, and others are served") {
  Queue queue;
  queue.charge(1000, 100 * kMs, kSecond);  // 60 ms over the room
  REQUIRE(queue.put(1000, 10, kSecond).ok());
  REQUIRE(queue.put(1001, 20, kSecond).ok());
  // All users' common budget is used up, too, for 80 ms.
  CHECK(served(queue, kSecond + 100 * kMs) == std::vector{20});
  CHECK(served(queue, kSecond + 700 * kMs) == std::vector{10});
}

TEST_CASE("a user with too many queries is refused, and told when to retry") {
  Queue queue;
  queue.charge(1000, 340 * kMs, kSecond);  // 300 ms over the room
  for (size_t i = 0; i < Queue::kMaxOfUser; ++i) {
    REQUIRE(queue.put(1000, 1, kSecond).ok());
  }
  const Status refused = queue.put(1000, 1, kSecond);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::kLimit);
  CHECK(refused.error().message ==
        "too many queries from user 1000; try again in 4 s");
  CHECK(queue.put(1001, 2, kSecond).ok());
}

TEST_CASE("a query that waits too long is refused before its client gives up") {
  Queue queue;
  queue.charge(1000, kSecond, kSecond);
  REQUIRE(queue.put(1000, 7, kSecond).ok());
  CHECK_FALSE(queue.next(kSecond + Queue::kMaxWait_ns));
  const auto late = queue.next(kSecond + Queue::kMaxWait_ns + 1);
  REQUIRE(late);
  CHECK(late->item == 7);
  REQUIRE_FALSE(late->may_be_served.ok());
  CHECK_THAT(late->may_be_served.error().message,
             ContainsSubstring("too many queries from user 1000"));
}

TEST_CASE("many users together cannot crowd out root") {
  Queue queue;
  uid_t uid = 1;
  while (queue.put(uid, 1, kSecond).ok()) ++uid;
  CHECK(queue.size() == Queue::kMaxOfAll);
  REQUIRE(queue.put(0, 2, kSecond).ok());
  CHECK((*queue.next(kSecond)).item == 2);
}

TEST_CASE("in any order of events the queue is bounded, fair and loses none") {
  std::mt19937 random(1);
  Queue queue;
  std::map<uid_t, std::deque<int>> waiting;  // what must come, by user
  uint64_t now_ns = kSecond;
  int number = 0;
  for (int step = 0; step < 50'000; ++step) {
    now_ns += random() % kMs;
    const uid_t uid = random() % 6;  // 0: root
    if (random() % 2 == 0) {
      if (queue.put(uid, int{++number}, now_ns).ok()) {
        waiting[uid].push_back(number);
      } else {
        REQUIRE(waiting[uid].size() ==
                (uid == 0 ? Queue::kMaxOfAll : Queue::kMaxOfUser));
      }
      continue;
    }
    const auto next = queue.next(now_ns);
    if (!next) {
      REQUIRE(waiting[0].empty());
      continue;
    }
    REQUIRE(waiting[next->uid].front() == next->item);
    waiting[next->uid].pop_front();
    if (!next->may_be_served) continue;
    REQUIRE((next->uid == 0 || waiting[0].empty()));
    queue.charge(next->uid, random() % (3 * kMs), now_ns);
  }
  size_t left = 0;
  for (const auto& [uid, items] : waiting) left += items.size();
  CHECK(queue.size() == left);
}
