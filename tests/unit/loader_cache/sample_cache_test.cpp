// penstock/loader/sample_cache.h: which samples are served, and to which
// processes.
#include "penstock/loader/sample_cache.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <random>
#include <thread>

#include "common/unique_fd.h"
#include "loader/cache/cache_layout.h"
#include "tests/unit/loader_cache/cache_case.h"
#include "tests/unit/loader_cache/children.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr uint64_t kMany = 100'000'000;

// The numbers of an epoch in some order.
std::vector<uint64_t> shuffled(uint64_t samples, unsigned seed) {
  std::vector<uint64_t> order(samples);
  for (uint64_t i = 0; i < samples; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return order;
}

// Loads every sample once, like a job; returns the bytes read from storage.
uint64_t epoch(SampleCache& cache, unsigned seed) {
  uint64_t stored_bytes = 0;
  for (const uint64_t index : shuffled(cache.samples(), seed)) {
    const auto expected = sample_bytes(index);
    if (const auto found = sample_in(cache, index)) {
      REQUIRE(*found == expected);
    } else {
      stored_bytes += expected.size();
      cache.store(index, expected, static_cast<int64_t>(index) - 1);
    }
  }
  return stored_bytes;
}

void flip_byte(const std::string& path, uint64_t offset) {
  const UniqueFd fd(::open(path.c_str(), O_RDWR));
  char byte = 0;
  REQUIRE(::pread(fd.get(), &byte, 1, off_t(offset)) == 1);
  byte = static_cast<char>(byte ^ 1);
  REQUIRE(::pwrite(fd.get(), &byte, 1, off_t(offset)) == 1);
}

}  // namespace

TEST_CASE("a sample is returned unchanged, with its label") {
  CacheCase test;
  const auto cache = test.open(3, {.most_bytes = kMany});
  CHECK_FALSE(cache->find(1));
  cache->store(1, sample_bytes(1), -1);
  cache->store(2, {}, 4'000'000'000);
  int64_t label = 0;
  CHECK(sample_in(*cache, 1, &label) == sample_bytes(1));
  CHECK(label == -1);
  CHECK(sample_in(*cache, 2, &label) == std::vector<uint8_t>());
  CHECK(label == 4'000'000'000);
  CHECK_FALSE(cache->find(0));
  CHECK(cache->counters().hits == 2);
  CHECK(cache->counters().misses == 2);
  CHECK(cache->counters().hit_bytes == sample_bytes(1).size());
}

TEST_CASE("cached samples stay, whatever the order of later epochs") {
  CacheCase test;
  constexpr uint64_t kSamples = 2000;
  uint64_t all_bytes = 0;
  for (uint64_t i = 0; i < kSamples; ++i) all_bytes += sample_bytes(i).size();
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  for (const uint64_t percent : {25, 50, 75, 100}) {
    const auto cache = test.open(
        kSamples,
        {.name = "part-" + std::to_string(percent),
         .most_bytes = percent == 100 ? kMany : all_bytes * percent / 100});
    CHECK(epoch(*cache, seed) == all_bytes);
    const uint64_t missed = epoch(*cache, seed + 1);
    CHECK(epoch(*cache, seed + 2) == missed);
    CHECK(epoch(*cache, seed + 3) == missed);
    const double share = 1 - double(missed) / double(all_bytes);
    // A sample's place has its label and up to 63 bytes of padding.
    CHECK(share <= double(percent) / 100);
    CHECK(share >= double(percent) / 100 - 0.02);
  }
}

TEST_CASE("processes share a cache, and it outlives them") {
  CacheCase test;
  const SampleCacheOptions options{.most_bytes = kMany, .keep_s = 100};
  CHECK(in_child([&] {
          const auto cache = test.open(10, options);
          for (uint64_t i = 0; i < 5; ++i) cache->store(i, sample_bytes(i), 1);
          ::raise(SIGKILL);
        }) == 128 + SIGKILL);
  const auto cache = test.open(10, options);
  for (uint64_t i = 0; i < 5; ++i)
    CHECK(sample_in(*cache, i) == sample_bytes(i));
  CHECK(in_child([&] {
          const auto other = test.open(10, options);
          other->store(7, sample_bytes(7), 1);
        }) == 0);
  CHECK(sample_in(*cache, 7) == sample_bytes(7));
}

TEST_CASE("a forked process uses its parent's cache") {
  CacheCase test;
  const auto cache = test.open(10, {.most_bytes = kMany});
  cache->store(0, sample_bytes(0), 1);
  CHECK(in_child([&] {
          if (sample_in(*cache, 0) != sample_bytes(0)) ::_exit(1);
          cache->store(1, sample_bytes(1), 1);
        }) == 0);
  CHECK(sample_in(*cache, 1) == sample_bytes(1));
  CHECK(std::filesystem::exists(cache->path()));
}

TEST_CASE("a cache with no keep time is removed with its last process") {
  CacheCase test;
  auto first = test.open(10, {.most_bytes = kMany});
  auto second = test.open(10, {.most_bytes = kMany});
  const std::string path = first->path();
  first.reset();
  CHECK(std::filesystem::exists(path));
  second.reset();
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("threads fill a cache together") {
  CacheCase test;
  constexpr uint64_t kSamples = 3000;
  const auto cache = test.open(kSamples, {.most_bytes = kMany});
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (const uint64_t i : shuffled(kSamples, t)) {
        const auto found = sample_in(*cache, i);
        if (found && *found != sample_bytes(i)) ++wrong;
        if (!found) cache->store(i, sample_bytes(i), 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(epoch(*cache, 1) == 0);
}

TEST_CASE("a damaged sample is not served and is stored again") {
  CacheCase test;
  std::vector<std::string> warned;
  const auto cache = test.open(
      4, {.most_bytes = kMany,
          .warn = [&](const std::string& what) { warned.push_back(what); }});
  cache->store(0, sample_bytes(0), 1);
  const uint64_t begin = cache_data_offset(4);
  for (const uint64_t offset : {begin, begin + 8, begin + 1000}) {
    CAPTURE(offset);
    cache->store(0, sample_bytes(0), 1);
    const uint64_t damaged = cache->counters().damaged;
    // The sample gets a new place each time.
    const UniqueFd fd(::open(cache->path().c_str(), O_RDONLY));
    Slot slot;
    REQUIRE(::pread(fd.get(), static_cast<void*>(&slot), sizeof slot,
                    kSlotsOffset) == ssize_t(sizeof slot));
    flip_byte(cache->path(), SlotWord::of(slot.word).offset + (offset - begin));
    CHECK_FALSE(sample_in(*cache, 0));
    CHECK(cache->counters().damaged == damaged + 1);
    cache->store(0, sample_bytes(0), 1);
    CHECK(sample_in(*cache, 0) == sample_bytes(0));
  }
  REQUIRE(warned.size() == 3);
  CHECK_THAT(warned[0], ContainsSubstring("sample 0 was damaged"));
}

TEST_CASE("a full tmpfs is reported and keeps the cached samples") {
  if (::geteuid() != 0) return;  // only root can mount
  CacheCase test;
  const std::string small = test.base() + "/small";
  std::filesystem::create_directory(small);
  REQUIRE(::mount("penstock-test", small.c_str(), "tmpfs", 0, "size=1m") == 0);
  ::setenv("PENSTOCK_CACHE_DIR", small.c_str(), 1);
  std::vector<std::string> warned;
  {
    const auto cache = test.open(
        1000, {.most_bytes = kMany, .warn = [&](const std::string& what) {
                 warned.push_back(what);
               }});
    epoch(*cache, 1);
    epoch(*cache, 2);
    CHECK(cache->counters().hits > 100);
  }
  {
    auto huge = SampleCache::open(1'000'000, 8, "/d", {.most_bytes = kMany});
    REQUIRE_FALSE(huge);
    CHECK(huge.error().code == Code::kLimit);
    CHECK_THAT(huge.error().message,
               ContainsSubstring("no memory in the tmpfs"));
  }
  ::umount(small.c_str());
  REQUIRE(warned.size() == 1);
  CHECK_THAT(warned[0], ContainsSubstring("No space left"));
}

TEST_CASE("a cache's name cannot be reused for other data") {
  CacheCase test;
  const auto cache = test.open(10, {.name = "n", .most_bytes = kMany});
  auto other =
      SampleCache::open(10, 8, "/other", {.name = "n", .most_bytes = 1});
  REQUIRE_FALSE(other);
  CHECK(other.error().code == Code::kInvalidArgument);
  CHECK_THAT(other.error().message,
             ContainsSubstring("10 samples of /data, than the 10 of /other") &&
                 ContainsSubstring("penstock cache drop"));
  auto longer =
      SampleCache::open(11, 7, "/data", {.name = "n", .most_bytes = 1});
  CHECK_FALSE(longer);
}

TEST_CASE("a cache with invalid options is refused") {
  CacheCase test;
  auto none = SampleCache::open(0, 1, "/d", {.most_bytes = 1});
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().message, ContainsSubstring("0 samples"));
  for (const char* name : {"a/b", "..", ".x", "a b", "a\n"}) {
    auto named = SampleCache::open(1, 1, "/d", {.name = name, .most_bytes = 1});
    REQUIRE_FALSE(named);
    CHECK_THAT(named.error().message, ContainsSubstring("allowed: 1 to 64"));
  }
}
