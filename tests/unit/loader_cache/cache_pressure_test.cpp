// Memory shortage while a cache is in use: in memory cgroups of the test, and
// in a full tmpfs.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <thread>

#include "loader/cache/cache_file.h"
#include "loader/cache/cache_list.h"
#include "loader/cache/memory_watch.h"
#include "loader/data/memory_room.h"
#include "tests/unit/loader_cache/cache_case.h"
#include "tests/unit/loader_cache/children.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr size_t kMostSample = 100'000;  // sample_bytes(): 50 to 100 kB
constexpr uint64_t kSamples = 2000;      // 150 MB

// A temporary memory cgroup (v1), removed by the destructor.
class Group {
 public:
  static bool can_be_made() {
    return ::geteuid() == 0 &&
           ::access("/sys/fs/cgroup/memory/memory.limit_in_bytes", W_OK) == 0;
  }
  explicit Group(uint64_t limit_bytes) {
    REQUIRE(::mkdir(path_.c_str(), 0755) == 0);
    REQUIRE(set_limit(limit_bytes));
  }
  ~Group() {
    for (int i = 0; i < 100 && ::rmdir(path_.c_str()) != 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  bool set_limit(uint64_t bytes) const {
    return write("memory.limit_in_bytes", std::to_string(bytes));
  }
  // Number of the group's processes killed by the OOM killer.
  uint64_t killed() const {
    std::ifstream file(path_ + "/memory.oom_control");
    std::string key;
    uint64_t value = 0;
    while (file >> key >> value && key != "oom_kill") {
    }
    REQUIRE(key == "oom_kill");
    return value;
  }
  // Moves the calling process, and later its children, into the group.
  void enter() const {
    if (!write("cgroup.procs", std::to_string(::getpid()))) ::_exit(90);
  }

 private:
  bool write(const std::string& file, const std::string& text) const {
    const UniqueFd fd(::open((path_ + "/" + file).c_str(), O_WRONLY));
    return ::write(fd.get(), text.data(), text.size()) == ssize_t(text.size());
  }

  const std::string path_ =
      "/sys/fs/cgroup/memory/penstock-test-" + std::to_string(::getpid());
};

// Memory that a program uses.
class Memory {
 public:
  void take(uint64_t bytes) {
    void* taken = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (taken == MAP_FAILED) ::_exit(91);
  }
};

SampleCacheOptions options_of(uint64_t most_bytes) {
  return {.name = "n", .most_bytes = most_bytes, .keep_s = 1000};
}

// Loads some samples of an epoch; returns the number of hits.
uint64_t load(SampleCache& cache, uint64_t from, uint64_t to) {
  uint64_t hits = 0;
  for (uint64_t i = from; i < to; ++i) {
    const auto expected = sample_bytes(i, kMostSample);
    const auto found = sample_in(cache, i);
    if (found && *found != expected) ::_exit(92);
    if (!found) cache.store(i, expected, 0);
    hits += found ? 1 : 0;
  }
  return hits;
}

CacheFacts facts_of(const CacheCase& test) {
  auto caches =
      list_caches({.base = test.base(), .user = ::geteuid(), .group = {}});
  REQUIRE(caches);
  REQUIRE(caches->size() == 1);
  return caches->front();
}

}  // namespace

TEST_CASE("a cache without a size takes half of the job's free memory") {
  if (!Group::can_be_made()) return;
  CacheCase test;
  const Group group(128 * kMiB);
  CHECK(in_child([&] {
          group.enter();
          Memory().take(40 * kMiB);
          const auto room = group_memory();
          if (!room || room->limit_bytes != 128 * kMiB) ::_exit(1);
          const auto cache = test.open(10, options_of(0));
          auto file =
              CacheFile::join(own_cache_folder(), "n", {7, 10, "/data", 0});
          if (!file) ::_exit(2);
          uint64_t most_bytes = 0;
          for (const auto& share : (*file)->shares().shares) {
            most_bytes = std::max<uint64_t>(most_bytes, share.most_bytes);
          }
          if (most_bytes > room->left_bytes / 2) ::_exit(3);
          if (most_bytes < room->left_bytes / 2 - 2 * kMiB) ::_exit(4);
          if (most_bytes > 44 * kMiB) ::_exit(5);
        }) == 0);
}

TEST_CASE("a cache larger than memory stops growing before memory runs out") {
  if (!Group::can_be_made()) return;
  CacheCase test;
  const Group group(64 * kMiB);
  CHECK(
      in_child([&] {
        group.enter();
        std::vector<std::string> warned;
        SampleCacheOptions options = options_of(1024 * kMiB);
        options.warn = [&](const std::string& what) { warned.push_back(what); };
        const auto cache = test.open(kSamples, options);
        (void)load(*cache, 0, kSamples);
        const uint64_t hits = load(*cache, 0, kSamples);
        if (warned.empty() || warned[0].find("memory cgroup leaves no more") ==
                                  std::string::npos) {
          ::_exit(1);
        }
        // Cached samples stay as long as no program needs the memory.
        if (cache->counters().dropped > 0) ::_exit(2);
        if (load(*cache, 0, kSamples) < hits) ::_exit(3);
      }) == 0);
  CHECK(facts_of(test).memory_bytes > 40 * kMiB);
  CHECK(facts_of(test).memory_bytes < 60 * kMiB);
}

TEST_CASE("processes that fill together stop before memory runs out") {
  if (!Group::can_be_made()) return;
  CacheCase test;
  const Group group(96 * kMiB);
  std::vector<std::unique_ptr<Child>> children;
  for (uint64_t i = 0; i < 8; ++i) {
    children.push_back(std::make_unique<Child>([&, i](const auto& /*done*/) {
      group.enter();
      const auto cache = test.open(kSamples, options_of(1024 * kMiB));
      const uint64_t first = i * kSamples / 8;
      for (int round = 0; round < 2; ++round) {
        (void)load(*cache, first, kSamples);
        (void)load(*cache, 0, first);
      }
    }));
  }
  for (const auto& child : children) CHECK(child->wait() == 0);
  CHECK(facts_of(test).memory_bytes > 40 * kMiB);
  CHECK(facts_of(test).damaged == 0);
}

TEST_CASE("the cache releases memory to a program that needs it") {
  if (!Group::can_be_made()) return;
  CacheCase test;
  const Group group(128 * kMiB);
  Child loader([&](const auto& done) {
    group.enter();
    const auto cache = test.open(kSamples, options_of(1024 * kMiB));
    (void)load(*cache, 0, kSamples);
    done();
    for (;;) (void)load(*cache, 0, kSamples);
  });
  REQUIRE(loader.wait_until_done());
  CHECK(facts_of(test).memory_bytes > 90 * kMiB);
  Child program([&](const auto& done) {
    group.enter();
    Memory memory;
    for (int i = 0; i < 50; ++i) {
      memory.take(kMiB);
      std::this_thread::sleep_for(std::chrono::milliseconds(80));
    }
    done();
    ::pause();
  });
  CHECK(program.wait_until_done());
  CHECK(group.killed() == 0);
  const CacheFacts facts = facts_of(test);
  CHECK(facts.dropped > 0);
  CHECK(facts.memory_bytes < 78 * kMiB);
  CHECK(facts.memory_bytes > 30 * kMiB);
  CHECK(facts.damaged == 0);
  CHECK(loader.kill() == 128 + SIGKILL);
  CHECK(program.kill() == 128 + SIGKILL);
  // The rest is correct, and the cache grows again after the program's end.
  CHECK(in_child([&] {
          group.enter();
          const auto cache = test.open(kSamples, options_of(1024 * kMiB));
          if (load(*cache, 0, kSamples) < facts.ready_samples * 9 / 10) {
            ::_exit(1);
          }
        }) == 0);
  CHECK(facts_of(test).memory_bytes > 90 * kMiB);
}

TEST_CASE("a cache follows a memory limit lowered during the run") {
  if (!Group::can_be_made()) return;
  CacheCase test;
  const Group group(128 * kMiB);
  Child loader([&](const auto& done) {
    group.enter();
    const auto cache = test.open(kSamples, options_of(60 * kMiB));
    (void)load(*cache, 0, kSamples);
    done();
    for (;;) (void)load(*cache, 0, kSamples);
  });
  REQUIRE(loader.wait_until_done());
  CHECK(facts_of(test).memory_bytes > 58 * kMiB);
  CHECK(facts_of(test).dropped == 0);
  // The kernel refuses a limit below the usage and kills a process that exceeds
  // it. So the limit falls by less than 1/32 between two readings, and more
  // slowly for a late loader.
  uint64_t limit_bytes = 72 * kMiB;
  for (int i = 0; i < 400 && limit_bytes > 40 * kMiB; ++i) {
    if (group.set_limit(limit_bytes)) limit_bytes -= kMiB / 2;
    std::this_thread::sleep_for(
        std::chrono::nanoseconds(MemoryWatch::kPeriod_ns));
  }
  CHECK(group.killed() == 0);
  CHECK(limit_bytes == 40 * kMiB);
  const CacheFacts facts = facts_of(test);
  CHECK(facts.dropped > 0);
  CHECK(facts.damaged == 0);
  CHECK(facts.memory_bytes < 40 * kMiB);
  CHECK(facts.memory_bytes > 20 * kMiB);
  CHECK(loader.kill() == 128 + SIGKILL);
}

TEST_CASE("an index too large for the job's memory is refused") {
  if (!Group::can_be_made()) return;
  CacheCase test;
  const Group group(64 * kMiB);
  CHECK(in_child([&] {
          group.enter();
          auto cache = SampleCache::open(10'000'000, 7, "/data",
                                         {.name = "n", .most_bytes = kMiB});
          if (cache) ::_exit(1);
          if (cache.error().code != Code::kLimit) ::_exit(2);
          if (cache.error().message.find("160") == std::string::npos) {
            ::_exit(3);
          }
        }) == 0);
  // An existing index needs no further memory.
  REQUIRE(in_child([&] {
            const auto cache = test.open(10'000'000, options_of(kMiB));
          }) == 0);
  CHECK(in_child([&] {
          group.enter();
          const auto cache = test.open(10'000'000, options_of(kMiB));
          cache->store(9'999'999, sample_bytes(1), 0);
          if (sample_in(*cache, 9'999'999) != sample_bytes(1)) ::_exit(1);
        }) == 0);
}

TEST_CASE("processes that fill a tmpfs completely serve correct samples") {
  if (::geteuid() != 0) return;  // only root can mount
  CacheCase test;
  const std::string small = test.base() + "/small";
  std::filesystem::create_directory(small);
  REQUIRE(::mount("penstock-test", small.c_str(), "tmpfs", 0, "size=4m") == 0);
  ::setenv("PENSTOCK_CACHE_DIR", small.c_str(), 1);
  std::ofstream(small + "/other") << std::string(kMiB, 'x');
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(std::make_unique<Child>([&](const auto& /*done*/) {
      const auto cache = test.open(100, options_of(1024 * kMiB));
      for (int round = 0; round < 3; ++round) (void)load(*cache, 0, 100);
    }));
  }
  for (const auto& child : children) CHECK(child->wait() == 0);
  auto caches = list_caches(own_cache_folder());
  REQUIRE(caches);
  // Samples without room were not stored and are not found later.
  CHECK(caches->at(0).damaged == 0);
  CHECK(caches->at(0).ready_samples > 25);
  uint64_t before = 0, after = 0;
  {
    const auto cache = test.open(100, options_of(1024 * kMiB));
    before = load(*cache, 0, 100);
    std::filesystem::remove(small + "/other");
    // The cache tries again one second after it found no room.
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    (void)load(*cache, 0, 100);
    after = load(*cache, 0, 100);
  }
  ::umount(small.c_str());
  CHECK(before > 25);
  CHECK(after > before + 8);
}
