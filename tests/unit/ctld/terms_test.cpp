#include "select_ext/ctld/terms.h"

#include <cstdlib>
#include <random>
#include <string>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

constexpr double kTimeout_s = 30;
constexpr uint64_t kHuge = (uint64_t{1} << 53) - 1;

// Has nodes n0, n1, ... say the same.
void all_say(Terms& terms, int nodes, uint64_t term, double silence_s,
             double now_s) {
  for (int i = 0; i < nodes; ++i) {
    terms.heard("n" + std::to_string(i), term, silence_s, now_s);
  }
}

}  // namespace

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

TEST_CASE("a backup becomes active once most agents report a silent primary") {
  Terms backup(1, kTimeout_s, 0);
  all_say(backup, 2, 16, 2, 100);
  backup.heard("n2", 16, 31, 100);
  CHECK_FALSE(backup.should_begin(102));
  backup.heard("n1", 16, 31, 110);
  CHECK(backup.should_begin(110));
  const uint64_t term = backup.begin(110);
  CHECK(term > 16);
  CHECK(backup.term() == term);
}

TEST_CASE("an agent without recent messages does not delay a backup") {
  Terms backup(1, kTimeout_s, 0);
  backup.heard("gone", 16, 0, 100);
  backup.heard("n1", 16, 31, 131);
  CHECK(backup.should_begin(131));
}

TEST_CASE("a rebooted node gives a living controller a time-out") {
  Terms backup(0, kTimeout_s, 0);
  for (double now_s = 100; now_s < 130; now_s += 10) {
    backup.heard("n1", 17, 1, now_s);
    backup.heard("n2", 0, 0, now_s);
    backup.heard("n3", 0, 0, now_s);
    CHECK_FALSE(backup.should_begin(now_s + 5));
  }
  CHECK(backup.should_begin(130));
}

TEST_CASE("all nodes may be rebooted without a change of the controller") {
  Terms backup(1, kTimeout_s, 0);
  all_say(backup, 3, 16, 1, 100);
  all_say(backup, 3, 0, 0, 1000);
  CHECK_FALSE(backup.should_begin(1001));
  all_say(backup, 3, 16, 1, 1010);
  CHECK_FALSE(backup.should_begin(1030));
}

TEST_CASE("the holder of the newest term continues without waiting") {
  Terms restarted(0, kTimeout_s, 16);
  restarted.heard("n1", 16, 0.5, 100);
  CHECK_FALSE(restarted.should_begin(100.5));
  CHECK(restarted.should_begin(101));
  CHECK(restarted.begin(101) > 16);
}

TEST_CASE("nodes without the last term's grant do not delay its holder") {
  Terms restarted(0, kTimeout_s, 48);
  all_say(restarted, 3, 32, 0.5, 100);
  restarted.heard("n0", 48, 0.5, 100);
  REQUIRE(restarted.should_begin(101));
  CHECK(restarted.begin(101) > 48);
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
    const uint64_t term_a = a.begin(0);
    const uint64_t term_b = b.begin(0);
    CHECK(term_a != term_b);
    CHECK(term_a > highest);
    CHECK(term_b > highest);
  }
}

TEST_CASE("a controller whose term ended waits before it begins a newer one") {
  Terms terms(0, kTimeout_s, 0);
  terms.heard("n1", 0, 0, 0);
  const uint64_t own = terms.begin(0);
  terms.heard("n1", own, 0, 1);
  CHECK_FALSE(terms.is_outdated(1));
  terms.heard("n1", own + 1, 0, 2);
  CHECK(terms.is_outdated(2));
  terms.step_down(2);
  CHECK_FALSE(terms.is_active());
  terms.heard("n1", own + 1, 31, 3);
  CHECK_FALSE(terms.should_begin(3));
  terms.heard("n1", own + 1, 31, 33);
  CHECK(terms.should_begin(33));
  CHECK(terms.begin(33) > own + 1);
}

TEST_CASE("a newer term whose holder is silent does not end a term") {
  Terms terms(0, kTimeout_s, 0);
  all_say(terms, 3, 0, 0, 0);
  const uint64_t own = terms.begin(1);
  all_say(terms, 3, own + 1, 31, 2);
  CHECK_FALSE(terms.is_outdated(2));
  // But most nodes refuse it: the next one is above theirs.
  CHECK_FALSE(terms.should_begin(2));
  all_say(terms, 3, own + 1, 61, 32);
  REQUIRE(terms.should_begin(32));
  CHECK(terms.begin(32) > own + 1);
}

TEST_CASE("one node cannot end a term, nor use up all terms") {
  Terms terms(0, kTimeout_s, 0);
  all_say(terms, 3, 0, 0, 0);
  uint64_t own = terms.begin(1);
  for (double now_s = 2; now_s < 1000; now_s += 10) {
    terms.heard("n0", kHuge, 0, now_s);
    terms.heard("n1", own, 0, now_s);
    terms.heard("n2", own, 0, now_s);
    CHECK_FALSE(terms.is_outdated(now_s));
    CHECK_FALSE(terms.should_begin(now_s));
  }
  CHECK(terms.term() == own);
}

TEST_CASE("a node ahead of most is caught up with after a time-out") {
  Terms terms(0, kTimeout_s, 0);
  all_say(terms, 3, 0, 0, 0);
  const uint64_t own = terms.begin(1);
  for (double now_s = 20; now_s < 50; now_s += 10) {
    terms.heard("n0", own + Terms::kMaxStep, 5, now_s);
    terms.heard("n1", own, 0, now_s);
    terms.heard("n2", own, 0, now_s);
    CHECK_FALSE(terms.should_begin(now_s));
  }
  REQUIRE(terms.should_begin(50));
  CHECK(terms.begin(50) > own + Terms::kMaxStep);
  CHECK_FALSE(terms.should_begin(50));
}

TEST_CASE("one node cannot prevent a backup's term") {
  Terms backup(1, kTimeout_s, 0);
  all_say(backup, 3, 16, 31, 100);
  backup.heard("n0", kHuge, 0, 100);
  REQUIRE(backup.should_begin(101));
  const uint64_t term = backup.begin(101);
  CHECK(term > 16);
  CHECK(term < 64);
}

TEST_CASE("a first term is not made huge by the only node that names one") {
  Terms primary(0, kTimeout_s, 0);
  all_say(primary, 3, 0, 0, 100);
  primary.heard("n0", kHuge, 0, 100);
  CHECK(primary.begin(101) == Terms::kPlaces);
}

TEST_CASE("liars who are most of the nodes do not use up all terms") {
  Terms terms(0, kTimeout_s, 0);
  all_say(terms, 3, kHuge, 31, 100);
  REQUIRE(terms.should_begin(101));
  const uint64_t term = terms.begin(101);
  CHECK(term > Terms::kMostReported);
  CHECK(term <= Terms::kMostReported + Terms::kPlaces);
  CHECK(kHuge - term > 1000 * Terms::kMaxStep);
}

TEST_CASE("a backup that missed many terms follows most nodes") {
  Terms backup(1, kTimeout_s, 17);
  const uint64_t newest = uint64_t{1} << 40;
  all_say(backup, 3, newest, 31, 100);
  REQUIRE(backup.should_begin(101));
  CHECK(backup.begin(101) > newest);
}

TEST_CASE("fewer than half of the nodes never get a term out of its course") {
  const char* given = std::getenv("PENSTOCK_TEST_SEED");
  const uint64_t seed =
      given ? std::strtoull(given, nullptr, 10) : std::random_device()();
  INFO("PENSTOCK_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int run = 0; run < 200; ++run) {
    const int liars = int(random() % 4);
    const int honest = liars + 1 + int(random() % 3);
    Terms terms(unsigned(random() % 3), kTimeout_s, 0);
    uint64_t known = 0;
    double now_s = 0;
    int begun = 0;
    for (int step = 0; step < 300; ++step, now_s += 1) {
      for (int i = 0; i < liars; ++i) {
        const uint64_t lie = random() >> (random() % 64);
        terms.heard("liar" + std::to_string(i), lie, double(random() % 60),
                    now_s);
      }
      all_say(terms, honest, known, terms.is_active() ? 0 : 31, now_s);
      REQUIRE_FALSE(terms.is_outdated(now_s));
      if (!terms.should_begin(now_s)) continue;
      const uint64_t term = terms.begin(now_s);
      REQUIRE(term > known);
      REQUIRE(term <= known + Terms::kMaxStep + 2 * Terms::kPlaces);
      known = term;
      ++begun;
    }
    CHECK(terms.is_active());
    CHECK(begun <= 1 + 300 / int(kTimeout_s));
  }
}
