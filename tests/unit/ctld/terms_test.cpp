#include "select_ext/ctld/terms.h"

#include "tests/unit/catch.h"

using namespace penstock;

namespace {
constexpr double kTimeout_s = 30;
}

TEST_CASE("no controller becomes active before an agent's first message") {
  const Terms terms(0, kTimeout_s, 0);
  CHECK_FALSE(terms.should_begin(1000));
}

TEST_CASE(
    "a first primary becomes active after 1 s, its backup after a time-out") {
  Terms primary(0, kTimeout_s, 0);
  Terms backup(1, kTimeout_s, 0);
  for (Terms* it : {&primary, &backup}) it->heard("n1", 0, 0, 100);
  CHECK_FALSE(primary.should_begin(100.5));
  CHECK(primary.should_begin(101));
  CHECK_FALSE(backup.should_begin(101));
  backup.heard("n1", 0, 0, 129);
  CHECK(backup.should_begin(130));
}

TEST_CASE("a backup becomes active once every agent reports a silent primary") {
  Terms backup(1, kTimeout_s, 0);
  backup.heard("n1", 16, 31, 100);
  backup.heard("n2", 16, 2, 100);
  CHECK_FALSE(backup.should_begin(102));
  backup.heard("n2", 16, 31, 110);
  CHECK(backup.should_begin(110));
  const uint64_t term = backup.begin();
  CHECK(term > 16);
  CHECK(backup.term() == term);
}

TEST_CASE("an agent without recent messages does not delay a backup") {
  Terms backup(1, kTimeout_s, 0);
  backup.heard("gone", 16, 0, 100);
  backup.heard("n1", 16, 31, 131);
  CHECK(backup.should_begin(131));
}

TEST_CASE("the holder of the newest term continues without waiting") {
  Terms restarted(0, kTimeout_s, 16);
  restarted.heard("n1", 16, 0.5, 100);
  CHECK_FALSE(restarted.should_begin(100.5));
  CHECK(restarted.should_begin(101));
  CHECK(restarted.begin() > 16);
}

TEST_CASE("the holder of an older term waits") {
  Terms restarted(0, kTimeout_s, 16);
  restarted.heard("n1", 16, 0.5, 100);
  restarted.heard("n2", 33, 0.5, 100);
  CHECK_FALSE(restarted.should_begin(101));
}

TEST_CASE("two controllers never begin the same term") {
  for (uint64_t highest = 0; highest < 40; ++highest) {
    Terms a(0, kTimeout_s, 0);
    Terms b(1, kTimeout_s, 0);
    a.heard("n1", highest, 31, 0);
    b.heard("n1", highest, 31, 0);
    const uint64_t term_a = a.begin();
    const uint64_t term_b = b.begin();
    CHECK(term_a != term_b);
    CHECK(term_a > highest);
    CHECK(term_b > highest);
  }
}

TEST_CASE("a controller whose term ended waits before it begins a newer one") {
  Terms terms(0, kTimeout_s, 0);
  terms.heard("n1", 0, 0, 0);
  const uint64_t own = terms.begin();
  CHECK_FALSE(terms.heard("n1", own, 0, 1));
  CHECK(terms.refused(own + 1));
  terms.step_down(2);
  CHECK_FALSE(terms.is_active());
  terms.heard("n1", own + 1, 31, 3);
  CHECK_FALSE(terms.should_begin(3));
  terms.heard("n1", own + 1, 31, 33);
  CHECK(terms.should_begin(33));
  CHECK(terms.begin() > own + 1);
}
