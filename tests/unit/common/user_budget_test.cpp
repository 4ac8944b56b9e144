#include "common/user_budget.h"

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kSecond = 1000 * kMs;

// The part of the time that users get who send messages of cost_ns all the
// time, each user in turn.
double share_of_floods(UserBudget& budget, uid_t users, uint64_t cost_ns,
                       uint64_t seconds) {
  uint64_t now_ns = kSecond;
  uint64_t spent_ns = 0;
  const uint64_t end_ns = now_ns + seconds * kSecond;
  while (now_ns < end_ns) {
    const uint64_t before_ns = now_ns;
    for (uid_t uid = 1000; uid < 1000 + users; ++uid) {
      if (!budget.may_spend(uid, now_ns)) continue;
      now_ns += cost_ns;
      spent_ns += cost_ns;
      budget.charge(uid, cost_ns, now_ns);
    }
    if (now_ns == before_ns) now_ns += kMs;
  }
  return double(spent_ns) / double(seconds * kSecond);
}

}  // namespace

TEST_CASE("a user may spend a burst, and then its share of the time") {
  UserBudget budget;
  uint64_t now_ns = kSecond;
  uint64_t burst_ns = 0;
  while (budget.may_spend(1000, now_ns)) {
    budget.charge(1000, kMs, now_ns);
    burst_ns += kMs;
  }
  CHECK(double(burst_ns) == Approx(UserBudget::kUserRoom_ns).margin(kMs));
  CHECK(budget.may_spend(1000, now_ns + 20 * kMs));
  CHECK(share_of_floods(budget, 1, kMs, 100) ==
        Approx(UserBudget::kUserShare).epsilon(0.05));
}

TEST_CASE("a user is refused until an expensive message is paid off") {
  UserBudget budget;
  budget.charge(1000, kSecond, kSecond);
  CHECK_FALSE(budget.may_spend(1000, 5 * kSecond));
  const uint64_t wait_ns = budget.wait_ns(1000, 5 * kSecond);
  CHECK_FALSE(budget.may_spend(1000, 5 * kSecond + wait_ns - kMs));
  CHECK(budget.may_spend(1000, 5 * kSecond + wait_ns));
  CHECK(budget.may_spend(1000, 12 * kSecond));
}

TEST_CASE("one user's flood leaves room for another") {
  UserBudget budget;
  budget.charge(1000, uint64_t(UserBudget::kUserRoom_ns), kSecond);
  CHECK_FALSE(budget.may_spend(1000, kSecond));
  CHECK(budget.may_spend(1001, kSecond));
}

TEST_CASE("many users together are limited to a common share") {
  UserBudget budget;
  CHECK(share_of_floods(budget, 500, kMs, 20) ==
        Approx(UserBudget::kAllShare).epsilon(0.05));
}

TEST_CASE("root is never limited") {
  UserBudget budget;
  for (uid_t uid = 0; uid < 100; ++uid) budget.charge(uid, kSecond, kSecond);
  CHECK(budget.may_spend(0, kSecond));
  CHECK_FALSE(budget.may_spend(1, kSecond));
}

TEST_CASE("users without recent messages are forgotten") {
  UserBudget budget;
  uint64_t now_ns = kSecond;
  for (uid_t uid = 1; uid <= 10 * UserBudget::kMaxUsers; ++uid) {
    now_ns += kMs;
    budget.charge(uid, kMs / 10, now_ns);
  }
  CHECK(budget.known_users() <= UserBudget::kMaxUsers);
}
