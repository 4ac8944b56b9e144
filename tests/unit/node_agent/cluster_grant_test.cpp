#include "node_agent/plan/cluster_grant.h"

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

NodeGrant grant_of(uint64_t term, uint64_t version) {
  NodeGrant grant;
  grant.term = term;
  grant.version = version;
  grant.jobs = {{7, 100, 200}};
  grant.pools = {{"net", 500, 1, 4, 1000}};
  return grant;
}

}  // namespace

TEST_CASE("grants with a newer version or a newer term are accepted") {
  ClusterGrant state(30, 0);
  CHECK(state.take(grant_of(16, 1), 1).is_new);
  CHECK(state.take(grant_of(16, 2), 2).is_new);
  CHECK(state.take(grant_of(33, 1), 3).is_new);
  CHECK(state.term() == 33);
  CHECK(state.version() == 1);
  REQUIRE(state.job(7) != nullptr);
  CHECK(state.job(7)->rate == 200);
  CHECK(state.job(8) == nullptr);
}

TEST_CASE(
    "older grants are refused, and their sender receives the newest term") {
  ClusterGrant state(30, 0);
  (void)state.take(grant_of(33, 5), 1);
  for (const auto& [term, version] :
       {std::pair<uint64_t, uint64_t>{16, 9}, {33, 4}, {33, 5}}) {
    const auto taken = state.take(grant_of(term, version), 2);
    CHECK_FALSE(taken.is_new);
    REQUIRE(taken.refused.has_value());
    CHECK(*taken.refused == Refused{term, version, 33});
  }
  CHECK(state.version() == 5);
  const auto beat = state.take(Beat{16}, 3);
  REQUIRE(beat.has_value());
  CHECK(beat->highest_term == 33);
}

TEST_CASE("an older term is followed after a long silence of the newest") {
  ClusterGrant state(30, 0);
  (void)state.take(grant_of(33, 5), 1);
  CHECK(state.take(Beat{33}, 10) == std::nullopt);
  CHECK(state.take(grant_of(16, 9), 129).refused.has_value());
  CHECK(state.take(Beat{16}, 131).has_value());
  const auto taken = state.take(grant_of(16, 9), 131);
  CHECK(taken.is_new);
  CHECK(taken.is_new_term);
  CHECK(state.term() == 16);
  CHECK(state.take(grant_of(16, 9), 132).refused.has_value());
  CHECK(state.take(grant_of(33, 6), 133).is_new);
}

TEST_CASE(
    "the term of an earlier run applies, and newer terms are flagged as new") {
  ClusterGrant state(30, 0, 33);
  CHECK(state.take(grant_of(16, 9), 1).refused.has_value());
  const auto same = state.take(grant_of(33, 1), 2);
  CHECK(same.is_new);
  CHECK_FALSE(same.is_new_term);
  CHECK(state.take(grant_of(49, 1), 3).is_new_term);
}

TEST_CASE(
    "a grant expires after 30 s without a heartbeat, its pools stay known") {
  ClusterGrant state(30, 0);
  (void)state.take(grant_of(16, 1), 1);
  CHECK_FALSE(state.take(Beat{16}, 20).has_value());
  CHECK_FALSE(state.expire(49));
  CHECK(state.expire(50));
  CHECK_FALSE(state.expire(51));
  CHECK_FALSE(state.is_in_force());
  CHECK(state.job(7) == nullptr);
  REQUIRE(state.pool("net") != nullptr);
  CHECK(state.pool("net")->all_shares == 4);
  CHECK(state.silence_s(50) == 30);
}

TEST_CASE("heartbeats of an old controller do not extend a grant") {
  ClusterGrant state(30, 0);
  (void)state.take(grant_of(33, 1), 1);
  (void)state.take(Beat{16}, 30);
  CHECK(state.expire(31));
}

TEST_CASE("after a grant expired, only a newer one takes effect") {
  ClusterGrant state(30, 0);
  (void)state.take(grant_of(16, 1), 1);
  CHECK(state.expire(100));
  CHECK_FALSE(state.take(grant_of(16, 1), 101).is_new);
  CHECK(state.take(grant_of(16, 2), 102).is_new);
  CHECK(state.is_in_force());
}
