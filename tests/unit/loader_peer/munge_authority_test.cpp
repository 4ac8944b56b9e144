// Credentials of real munged daemons that the test starts.
#include <unistd.h>

#include "loader/peer/peer_authority.h"
#include "tests/unit/link/private_munge.h"
#include "tests/unit/loader_cache/children.h"
#include "tests/unit/loader_peer/peer_case.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr uid_t kOtherUser = 1;
constexpr gid_t kOtherGroup = 1;

bool is_missing() {
  if (PrivateMunge::installed()) return false;
  WARN("skipped: no munged here");
  return true;
}

void check_denied(const Result<std::string>& opened, const std::string& why) {
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == Code::kPermissionDenied);
  CHECK_THAT(opened.error().message, ContainsSubstring(why));
}

// A claim sealed by another user's process.
std::string sealed_by(uid_t user, gid_t group, const std::string& socket,
                      const std::optional<gid_t>& for_group) {
  int fds[2];
  REQUIRE(::pipe(fds) == 0);
  REQUIRE(in_child([&] {
            if (::setgid(group) != 0 || ::setuid(user) != 0) ::_exit(1);
            auto sealed = munge_authority(for_group, socket)->seal("claim");
            if (!sealed) ::_exit(2);
            (void)!::write(fds[1], sealed->data(), sealed->size());
          }) == 0);
  ::close(fds[1]);
  std::string sealed(8192, '\0');
  const ssize_t bytes = ::read(fds[0], sealed.data(), sealed.size());
  ::close(fds[0]);
  REQUIRE(bytes > 0);
  sealed.resize(size_t(bytes));
  return sealed;
}

}  // namespace

TEST_CASE("a sealed claim can be opened once, by the same user") {
  if (is_missing()) return;
  const PrivateMunge munge;
  const auto authority = munge_authority(std::nullopt, munge.socket());
  CHECK(check_authority(authority));
  const auto sealed = authority->seal("a claim");
  REQUIRE(sealed);
  CHECK(sealed->size() < 1000);
  const auto opened = authority->open(*sealed);
  REQUIRE(opened);
  CHECK(*opened == "a claim");
  check_denied(authority->open(*sealed), "munge");
}

TEST_CASE("another machine of the cluster can open a sealed claim") {
  if (is_missing()) return;
  const PrivateMunge here("one"), there("one");
  const auto sealed = munge_authority(std::nullopt, here.socket())->seal("x");
  REQUIRE(sealed);
  CHECK(munge_authority(std::nullopt, there.socket())->open(*sealed));
}

TEST_CASE("a machine of another cluster cannot open a sealed claim") {
  if (is_missing()) return;
  const PrivateMunge here("one"), there("two");
  const auto sealed = munge_authority(std::nullopt, here.socket())->seal("x");
  REQUIRE(sealed);
  check_denied(munge_authority(std::nullopt, there.socket())->open(*sealed),
               "munge");
}

TEST_CASE("a claim older than a minute is refused") {
  if (is_missing()) return;
  const PrivateMunge here("one"), later("one", 70);
  const auto sealed = munge_authority(std::nullopt, here.socket())->seal("x");
  REQUIRE(sealed);
  check_denied(munge_authority(std::nullopt, later.socket())->open(*sealed),
               "xpired");
}

TEST_CASE(
    "a claim of another user is refused, and another user cannot open ours") {
  if (is_missing()) return;
  if (::geteuid() != 0) {
    WARN("skipped: only root can be another user");
    return;
  }
  const PrivateMunge munge;
  // A claim by another user for itself.
  check_denied(munge_authority(std::nullopt, munge.socket())
                   ->open(sealed_by(kOtherUser, kOtherGroup, munge.socket(),
                                    std::nullopt)),
               "nauthorized");
  const std::string own =
      *munge_authority(std::nullopt, munge.socket())->seal("x");
  CHECK(in_child([&] {
          if (::setgid(kOtherGroup) != 0 || ::setuid(kOtherUser) != 0) {
            ::_exit(1);
          }
          const auto opened =
              munge_authority(std::nullopt, munge.socket())->open(own);
          if (opened || opened.error().code != Code::kPermissionDenied) {
            ::_exit(2);
          }
        }) == 0);
}

TEST_CASE("members of a group can open each other's claims only") {
  if (is_missing() || ::geteuid() != 0) return;
  const PrivateMunge munge;
  const gid_t own = ::getegid();
  const auto authority = munge_authority(own, munge.socket());
  const auto member = sealed_by(kOtherUser, own, munge.socket(), own);
  const auto opened = authority->open(member);
  REQUIRE(opened);
  CHECK(*opened == "claim");
  // For the group, but by a user outside it.
  check_denied(
      authority->open(sealed_by(kOtherUser, kOtherGroup, munge.socket(), own)),
      "user 1");
}

TEST_CASE("invalid credentials are refused") {
  if (is_missing()) return;
  const PrivateMunge munge;
  const auto authority = munge_authority(std::nullopt, munge.socket());
  for (const std::string text :
       {"", "x", "MUNGE:", "MUNGE:AwQFAACdCk:", "MUNGE:::::"}) {
    const auto opened = authority->open(text);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == Code::kInvalidArgument);
  }
}

TEST_CASE("the error without munged names the remedy") {
  const auto authority = munge_authority(std::nullopt, "/nowhere/munge.sock");
  const auto sealed = authority->seal("x");
  REQUIRE_FALSE(sealed);
  CHECK(sealed.error().code == Code::kUnavailable);
  CHECK_THAT(sealed.error().message,
             ContainsSubstring("systemctl start munge"));
  CHECK_FALSE(check_authority(authority));
}

TEST_CASE("a check of a hanging munged ends within 4 s") {
  if (is_missing()) return;
  PrivateMunge munge;
  munge.freeze();
  CHECK(seconds_of([&] {
          const auto checked =
              check_authority(munge_authority(std::nullopt, munge.socket()));
          REQUIRE_FALSE(checked);
          CHECK_THAT(checked.error().message, ContainsSubstring("within 2 s"));
        }) < 4);
  munge.thaw();
}

TEST_CASE("nodes authenticate each other by munge") {
  if (is_missing()) return;
  const PrivateMunge first("one"), second("one");
  CacheCase folders[2];
  std::shared_ptr<SampleCache> caches[2];
  std::shared_ptr<PeerGroup> groups[2];
  for (size_t i = 0; i < 2; ++i) {
    ::setenv("PENSTOCK_CACHE_DIR", folders[i].base().c_str(), 1);
    caches[i] = folders[i].open(50, {.most_bytes = kManyBytes});
    auto group = PeerGroup::open(
        caches[i], options_of(2, i),
        munge_authority(std::nullopt, (i == 0 ? first : second).socket()));
    REQUIRE(group);
    groups[i] = *group;
  }
  for (const auto& group : groups) {
    REQUIRE(wait_until([&] { return group->server().port() != 0; }));
  }
  const uint64_t index = sample_of(*groups[0], false);
  caches[1]->store(index, sample_bytes(index), 7);
  std::vector<uint8_t> sample;
  int64_t label = 0;
  REQUIRE(groups[0]->get(index, sample, label));
  CHECK(sample == sample_bytes(index));
}
