#include "link/strangers.h"

#include <random>

#include "tests/unit/catch.h"

using namespace penstock;

TEST_CASE("beyond the limit the busiest address's oldest connection goes") {
  Strangers strangers(3, 1000);
  strangers.add(1, "good");
  strangers.add(2, "bad");
  strangers.add(3, "bad");
  CHECK_FALSE(strangers.one_too_many());
  strangers.add(4, "bad");
  REQUIRE(strangers.one_too_many() == 2);
  strangers.remove(2);
  CHECK_FALSE(strangers.one_too_many());
}

TEST_CASE("beyond the bytes the oldest holder of the largest address goes") {
  Strangers strangers(100, 1000);
  strangers.add(1, "bad");
  strangers.add(2, "bad");
  strangers.add(3, "bad");
  strangers.add(4, "good");
  strangers.hold(4, 400);
  strangers.hold(2, 300);
  strangers.hold(3, 300);
  CHECK_FALSE(strangers.one_too_many());
  strangers.hold(3, 400);
  CHECK(strangers.one_too_many() == 2);  // 1 holds nothing
  strangers.hold(3, 0);
  CHECK_FALSE(strangers.one_too_many());
}

TEST_CASE("a removed connection no longer counts") {
  Strangers strangers(1, 10);
  strangers.add(1, "a");
  strangers.hold(1, 11);
  CHECK(strangers.one_too_many() == 1);
  strangers.remove(1);
  strangers.remove(1);
  strangers.hold(1, 50);
  CHECK_FALSE(strangers.one_too_many());
  CHECK(strangers.size() == 0);
}

TEST_CASE("whatever comes, the limits hold, and a small address stays") {
  constexpr size_t kMost = 50, kMostBytes = 10'000;
  Strangers strangers(kMost, kMostBytes);
  std::mt19937 random(1);
  std::map<uint64_t, size_t> kept;
  strangers.add(0, "good");
  strangers.hold(0, 100);
  for (uint64_t id = 1; id < 5000; ++id) {
    strangers.add(id, "bad" + std::to_string(random() % 3));
    kept[id] = 0;
    const auto some = std::next(kept.begin(), long(random() % kept.size()));
    some->second = random() % 1000;
    strangers.hold(some->first, some->second);
    while (const auto victim = strangers.one_too_many()) {
      REQUIRE(*victim != 0);
      kept.erase(*victim);
      strangers.remove(*victim);
    }
    size_t bytes = 100;
    for (const auto& [one, holds] : kept) bytes += holds;
    REQUIRE(bytes <= kMostBytes);
    REQUIRE(strangers.size() == kept.size() + 1);
    REQUIRE(strangers.size() <= kMost);
  }
}
