// Processes of a node, whose serving process is killed.
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/unit/loader_cache/children.h"
#include "tests/unit/loader_peer/peer_case.h"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr uint64_t kSamples = 100;

// Shared memory in which the processes of a node report whether they serve.
struct Told {
  std::atomic<uint16_t> ports[4];
};

struct Shared {
  Told* told = nullptr;
  Shared() {
    void* map = ::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(map != MAP_FAILED);
    told = new (map) Told{};
  }
  ~Shared() { ::munmap(told, sizeof(Told)); }
};

// Joins a node's cache and reports repeatedly whether it serves.
Child::Work member(const std::string& base, size_t node, Told& told,
                   size_t number) {
  (void)test_port();  // before the child asks
  return [=, &told](const std::function<void()>& done) {
    ::setenv("PENSTOCK_CACHE_DIR", base.c_str(), 1);
    auto cache =
        SampleCache::open(kSamples, 7, "/data", {.most_bytes = kManyBytes});
    if (!cache) ::_exit(3);
    auto group = PeerGroup::open(*cache, options_of(2, node),
                                 std::make_shared<FakeAuthority>());
    if (!group) ::_exit(4);
    for (bool is_told = false;; is_told = true) {
      told.ports[number] = (*group)->server().port();
      if (!is_told) done();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  };
}

size_t serving(const Told& told) {
  size_t count = 0;
  for (const auto& port : told.ports) count += port != 0;
  return count;
}

}  // namespace

TEST_CASE("another process takes over from a killed server within a second") {
  const CacheCase folder;
  const Shared shared;
  std::vector<std::unique_ptr<Child>> members;
  for (size_t i = 0; i < 3; ++i) {
    members.push_back(
        std::make_unique<Child>(member(folder.base(), 1, *shared.told, i)));
    REQUIRE(members.back()->wait_until_done());
  }
  PeerNode node(kSamples);
  node.join(options_of(2, 0));
  const uint64_t index = sample_of(*node.group, false);
  node.group->put(index, sample_bytes(index), 3);
  const auto has_it = [&] {
    std::vector<uint8_t> sample;
    int64_t label = 0;
    return node.group->get(index, sample, label) &&
           sample == sample_bytes(index);
  };
  REQUIRE(wait_until(has_it));
  for (size_t left = 3; left > 1; --left) {
    REQUIRE(wait_until([&] { return serving(*shared.told) == 1; }));
    for (size_t i = 0; i < 3; ++i) {
      if (shared.told->ports[i] == 0) continue;
      members[i]->kill();
      shared.told->ports[i] = 0;
    }
    CHECK(seconds_of([&] {
            CHECK(wait_until([&] { return serving(*shared.told) == 1; }));
          }) < 1);
    // The sample is still cached; the client reconnects within its retry
    // interval.
    CHECK(seconds_of([&] { CHECK(wait_until(has_it)); }) < 3);
  }
}

TEST_CASE("children of a killed server do not prevent others from serving") {
  const CacheCase folder;
  const Shared shared;
  (void)test_port();  // before the child asks
  Child parent([&](const std::function<void()>& done) {
    ::setenv("PENSTOCK_CACHE_DIR", folder.base().c_str(), 1);
    auto cache =
        SampleCache::open(kSamples, 7, "/data", {.most_bytes = kManyBytes});
    if (!cache) ::_exit(3);
    auto group = PeerGroup::open(*cache, options_of(2, 1),
                                 std::make_shared<FakeAuthority>());
    if (!group) ::_exit(4);
    while ((*group)->server().port() == 0) ::usleep(1000);
    const pid_t child = ::fork();
    if (child == 0) {
      ::sleep(4);
      ::_exit(0);
    }
    shared.told->ports[3] = 0;
    done();
    for (;;) ::pause();
  });
  REQUIRE(parent.wait_until_done());
  Child second(member(folder.base(), 1, *shared.told, 0));
  REQUIRE(second.wait_until_done());
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  CHECK(shared.told->ports[0] == 0);
  parent.kill();
  CHECK(seconds_of([&] {
          CHECK(wait_until([&] { return shared.told->ports[0] != 0; }));
        }) < 1);
}

TEST_CASE("a stopped node costs a bounded delay and is used again later") {
  const CacheCase folder;
  const Shared shared;
  Child other(member(folder.base(), 1, *shared.told, 0));
  REQUIRE(other.wait_until_done());
  PeerNode node(kSamples);
  node.join(options_of(2, 0));
  const uint64_t index = sample_of(*node.group, false);
  std::vector<uint8_t> sample;
  int64_t label = 0;
  node.group->put(index, sample_bytes(index), 3);
  const auto has_it = [&] { return node.group->get(index, sample, label); };
  REQUIRE(wait_until(has_it));
  other.stop();
  CHECK(seconds_of([&] { CHECK_FALSE(has_it()); }) < 0.9);
  // 100 further requests cost no time.
  CHECK(seconds_of([&] {
          for (int i = 0; i < 100; ++i) CHECK_FALSE(has_it());
        }) < 0.2);
  other.go_on();
  CHECK(wait_until(has_it, 5));
}
