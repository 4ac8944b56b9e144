#include <random>
#include <set>

#include "tests/unit/catch.h"
#include "wire/envelope.h"

namespace penstock {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr double kNow = 1.78e9;

Envelope message(const std::string& node, uint64_t session, uint64_t sequence,
                 double sent_unix_s = kNow) {
  Envelope envelope;
  envelope.type = "event";
  envelope.node = node;
  envelope.session = session;
  envelope.sequence = sequence;
  envelope.sent_unix_s = sent_unix_s;
  return envelope;
}

TEST_CASE(
    "each message passes once and in order, and missing ones are counted") {
  Guard guard;
  Result<uint64_t> first = guard.admit(message("n1", 1, 5), 0, kNow);
  REQUIRE(first);
  CHECK(*first == 4);
  Result<uint64_t> next = guard.admit(message("n1", 1, 6), 0, kNow);
  REQUIRE(next);
  CHECK(*next == 0);
  for (uint64_t sequence : {6, 5, 1}) {
    Result<uint64_t> again = guard.admit(message("n1", 1, sequence), 0, kNow);
    REQUIRE_FALSE(again);
    CHECK(again.error().code == Code::kPermissionDenied);
    CHECK_THAT(again.error().message,
               ContainsSubstring("a replay, or out of order"));
  }
  Result<uint64_t> gap = guard.admit(message("n1", 1, 10), 0, kNow);
  REQUIRE(gap);
  CHECK(*gap == 3);
  // A restarted sender starts again at 1 in a new session.
  Result<uint64_t> restarted = guard.admit(message("n1", 2, 1), 0, kNow);
  REQUIRE(restarted);
  CHECK(*restarted == 0);
}

TEST_CASE("messages that are lost while a session is forgotten are missed") {
  Guard guard;
  CHECK(guard.admit(message("n1", 1, 1), 0, kNow));
  // The clock steps ahead: one sweep, and one message that seems too old.
  CHECK(guard.admit(message("n2", 1, 1, kNow + 200), 0, kNow + 200));
  CHECK_FALSE(guard.admit(message("n1", 1, 2, kNow), 0, kNow + 200));
  // It steps back.
  Result<uint64_t> later = guard.admit(message("n1", 1, 3), 0, kNow);
  REQUIRE(later);
  CHECK(*later > 0);
}

TEST_CASE("old messages and those from the future are refused with their age") {
  Guard guard;
  CHECK(guard.admit(message("n1", 1, 1, kNow - 60), 0, kNow));
  CHECK(guard.admit(message("n1", 1, 2, kNow + 60), 0, kNow));
  Result<uint64_t> old = guard.admit(message("n1", 1, 3, kNow - 600), 0, kNow);
  REQUIRE_FALSE(old);
  CHECK(old.error().code == Code::kPermissionDenied);
  CHECK_THAT(old.error().message, ContainsSubstring("n1 is 600 s old"));
  CHECK_THAT(old.error().message, ContainsSubstring("chrony or NTP"));
  Result<uint64_t> early =
      guard.admit(message("n1", 1, 3, kNow + 600), 0, kNow);
  REQUIRE_FALSE(early);
  CHECK(early.error().code == Code::kPermissionDenied);
  CHECK_THAT(early.error().message, ContainsSubstring("600 s ahead"));
  CHECK_THAT(early.error().message, ContainsSubstring("chrony or NTP"));
  // Neither message has used its number.
  CHECK(guard.admit(message("n1", 1, 3), 0, kNow));
}

TEST_CASE("another user's messages for a node do not affect root's") {
  Guard guard;
  CHECK(guard.admit(message("n1", 1, 1), 0, kNow));
  CHECK(guard.admit(message("n1", 1, 1000), 1000, kNow));
  CHECK(guard.admit(message("n1", 1, 2), 0, kNow));
}

TEST_CASE("a user's sessions are limited without effect on other users") {
  Guard guard({.max_sessions_of_daemons = 90, .max_sessions_of_user = 10});
  for (uint64_t session = 1; session <= 10; ++session) {
    CHECK(guard.admit(message("n", session, 1), 1000, kNow));
  }
  Result<uint64_t> more = guard.admit(message("n", 11, 1), 1000, kNow);
  REQUIRE_FALSE(more);
  CHECK(more.error().code == Code::kLimit);
  CHECK_THAT(more.error().message, ContainsSubstring("10 of user 1000"));
  CHECK(
      guard.admit(message("n", 5, 2), 1000, kNow));  // known sessions continue
  CHECK(guard.admit(message("n", 1, 1), 1001, kNow));
  for (uint64_t session = 1; session <= 90; ++session) {
    CHECK(guard.admit(message("n", session, 1), 0, kNow));
  }
  CHECK(guard.sessions() == 101);
  Result<uint64_t> full = guard.admit(message("n", 91, 1), 0, kNow);
  REQUIRE_FALSE(full);
  CHECK(full.error().code == Code::kLimit);
  CHECK(guard.sessions() == 101);
  // Sessions are dropped once their messages would be too old.
  CHECK(guard.admit(message("n", 11, 1, kNow + 61), 1000, kNow + 61));
  CHECK(guard.sessions() == 1);
}

TEST_CASE("users together cannot use up root's sessions") {
  Guard guard;
  size_t users = 0;
  for (uid_t uid = 1000; uid < 1300; ++uid) {
    for (uint64_t session = 1; session <= 300; ++session) {
      if (guard.admit(message("n", session, 1), uid, kNow)) ++users;
    }
  }
  CHECK(users == Guard::Limits().max_sessions_of_users);
  for (uint64_t session = 1; session <= 10000; ++session) {
    REQUIRE(guard.admit(message("n", session, 1), 0, kNow));
  }
}

TEST_CASE("a daemon's own user has root's room") {
  Guard guard({.daemons = {0, 998},
               .max_sessions_of_daemons = 30,
               .max_sessions_of_user = 10});
  for (uint64_t session = 1; session <= 20; ++session) {
    CHECK(guard.admit(message("n", session, 1), 998, kNow));
  }
  for (uint64_t session = 1; session <= 10; ++session) {
    CHECK(guard.admit(message("n", session, 1), 0, kNow));
    CHECK(guard.admit(message("n", session, 1), 1000, kNow));
  }
  CHECK_FALSE(guard.admit(message("n", 11, 1), 0, kNow));
  CHECK_FALSE(guard.admit(message("n", 21, 1), 998, kNow));
  CHECK_FALSE(guard.admit(message("n", 11, 1), 1000, kNow));
}

TEST_CASE("sessions expire even if the clock was set back") {
  Guard guard({.max_sessions_of_daemons = 2});
  CHECK(guard.admit(message("n", 1, 1, kNow), 0, kNow));
  CHECK(guard.admit(message("n", 2, 1, kNow - 1000), 0, kNow - 1000));
  CHECK(guard.admit(message("n", 3, 1, kNow + 100), 0, kNow + 100));
}

// Recorded messages sent again in any order and at any time do not pass twice.
TEST_CASE("no message passes twice, however messages are replayed") {
  const char* given = std::getenv("PENSTOCK_TEST_SEED");
  const auto seed = given ? std::stoull(given) : std::random_device()();
  INFO("PENSTOCK_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  Guard guard(
      {.max_age_s = 5, .max_ahead_s = 1, .max_sessions_of_daemons = 50});
  std::vector<Envelope> seen;
  std::set<std::tuple<std::string, uint64_t, uint64_t>> passed;
  std::map<uint64_t, uint64_t> sequences;
  double now = kNow;
  size_t admitted = 0;
  for (int step = 0; step < 20000; ++step) {
    now += double(random() % 100) * 1e-3;
    Envelope envelope;
    if (seen.empty() || random() % 2) {
      // A sender restarts now and then, which gives it a new session.
      const uint64_t session = 1 + uint64_t(step) / 200 * 3 + random() % 3;
      envelope = message("n", session, ++sequences[session], now);
      seen.push_back(envelope);
    } else {
      const size_t recent = std::min<size_t>(seen.size(), 400);
      envelope = seen[seen.size() - 1 - random() % recent];
    }
    if (guard.admit(envelope, 0, now)) {
      ++admitted;
      REQUIRE(
          passed.insert({envelope.node, envelope.session, envelope.sequence})
              .second);
    }
    REQUIRE(guard.sessions() <= 50);
  }
  CHECK(admitted > seen.size() * 9 / 10);
}

}  // namespace
}  // namespace penstock
