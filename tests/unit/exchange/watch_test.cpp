#include "exchange/context/watch.h"

#include "tests/unit/catch.h"

using namespace penstock::exchange;
using namespace std::chrono_literals;

namespace {

const Watch::Time kStart{1h};

// Checks repeatedly until that time.
bool look_until(Watch& watch, Watch::Time& now, Watch::Time end) {
  bool is_overdue = false;
  for (; now < end; now += 20ms) {
    is_overdue = watch.is_due(now) && watch.overdue_s().has_value();
  }
  return is_overdue;
}

}  // namespace

TEST_CASE("a waiting rank checks every 10 ms") {
  Watch watch(60, kStart);
  CHECK_FALSE(watch.is_due(kStart + 9ms));
  CHECK(watch.is_due(kStart + 10ms));
  CHECK_FALSE(watch.is_due(kStart + 19ms));
  CHECK(watch.is_due(kStart + 20ms));
}

TEST_CASE("an exchange is overdue after its time-out") {
  Watch watch(2, kStart);
  Watch::Time now = kStart;
  watch.begin(now);
  CHECK_FALSE(look_until(watch, now, kStart + 2s));
  CHECK(look_until(watch, now, kStart + 2100ms));
  CHECK(*watch.overdue_s() == Approx(2.08));
  watch.begin(now);  // the next one
  CHECK_FALSE(look_until(watch, now, kStart + 4s));
}

TEST_CASE("time without checks does not count") {
  Watch watch(2, kStart);
  Watch::Time now = kStart;
  watch.begin(now);
  CHECK_FALSE(look_until(watch, now, kStart + 1900ms));
  now += 1h;  // stopped
  CHECK_FALSE(look_until(watch, now, kStart + 1h + 3800ms));
  CHECK(look_until(watch, now, kStart + 1h + 4s));
}
