// Processes killed or stopped at every step of storing a sample: no wrong
// sample is served, and the others continue.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <random>
#include <thread>

#include "loader/cache/cache_file.h"
#include "loader/cache/cache_list.h"
#include "loader/cache/fault_point.h"
#include "tests/unit/loader_cache/cache_case.h"
#include "tests/unit/loader_cache/children.h"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr uint64_t kMany = 100'000'000;
constexpr const char* kPoints[] = {"claimed",      "counted", "placed",
                                   "half written", "written", "described"};

const char* fault = nullptr;  // the point at which this process ends
int fault_signal = 0;
uint64_t passes_left = 0;  // fault points to pass before the end; 0: no end

}  // namespace

// The test build of the library calls this at its fault points.
void penstock::fault_point(const char* name) {
  if (fault != nullptr && std::strcmp(fault, name) == 0) ::raise(fault_signal);
  if (passes_left > 0 && --passes_left == 0) ::raise(SIGKILL);
}

namespace {

const SampleCacheOptions kOptions{
    .name = "n", .most_bytes = kMany, .keep_s = 100};

CacheFacts facts_of(const CacheCase& test) {
  auto caches =
      list_caches({.base = test.base(), .user = ::geteuid(), .group = {}});
  REQUIRE(caches);
  REQUIRE(caches->size() == 1);
  return caches->front();
}

void check_right(SampleCache& cache, uint64_t index) {
  int64_t label = 0;
  const auto found = sample_in(cache, index, &label);
  if (!found) return;
  CHECK(*found == sample_bytes(index));
  CHECK(label == int64_t(index));
}

// Loads all samples of an epoch; returns the number of misses.
uint64_t epoch(SampleCache& cache, unsigned seed) {
  std::vector<uint64_t> order(cache.samples());
  for (uint64_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  uint64_t missed = 0;
  for (const uint64_t index : order) {
    int64_t label = 0;
    const auto found = sample_in(cache, index, &label);
    if (!found) {
      ++missed;
      cache.store(index, sample_bytes(index), int64_t(index));
    } else if (*found != sample_bytes(index) || label != int64_t(index)) {
      std::cerr << "sample " << index << " is wrong\n";
      ::_exit(3);
    }
  }
  return missed;
}

// Stores sample 3 and gets the signal at that point.
Child::Work fails_at(CacheCase& test, const char* point, int signal) {
  return [&test, point, signal](const auto& /*done*/) {
    const auto cache = test.open(10, kOptions);
    cache->store(0, sample_bytes(0), 0);
    fault = point;
    fault_signal = signal;
    cache->store(3, sample_bytes(3), 3);
  };
}

uint64_t filled_bytes(const CacheCase& test) {
  const CacheOwner owner{.base = test.base(), .user = ::geteuid(), .group = {}};
  auto file = CacheFile::join(owner, "n", {7, 10, "/data", 0});
  REQUIRE(file);
  uint64_t filled = 0;
  for (const auto& share : (*file)->shares().shares) {
    filled += share.filled_bytes;
  }
  return filled;
}

}  // namespace

TEST_CASE("a sample of a process killed while storing it is stored by others") {
  for (const char* point : kPoints) {
    for (const bool is_other_job : {false, true}) {
      CAPTURE(point, is_other_job);
      CacheCase test;
      ::setenv("SLURM_JOB_ID", "1", 1);
      Child child(fails_at(test, point, SIGKILL));
      REQUIRE(child.wait() == 128 + SIGKILL);
      if (is_other_job) ::setenv("SLURM_JOB_ID", "2", 1);
      const auto cache = test.open(10, kOptions);
      ::unsetenv("SLURM_JOB_ID");
      CHECK_FALSE(cache->find(3));
      CHECK(sample_in(*cache, 0) == sample_bytes(0));
      CHECK(epoch(*cache, 1) == 9);
      CHECK(epoch(*cache, 2) == 0);
      check_right(*cache, 3);
      CHECK(facts_of(test).ready_samples == 10);
      CHECK(facts_of(test).damaged == 0);
      // The counted bytes are those of cached samples, plus at most the killed
      // process's sample: counted without a place, or not distinguishable from
      // a ready one.
      uint64_t held = 0;
      for (uint64_t i = 0; i < 10; ++i)
        held += place_bytes(*cache->find(i) + 8);
      const bool is_lost = std::strcmp(point, "counted") == 0 ||
                           std::strcmp(point, "described") == 0;
      const uint64_t lost =
          is_lost ? place_bytes(sample_bytes(3).size() + 8) : 0;
      CHECK(filled_bytes(test) == held + lost);
    }
  }
}

TEST_CASE("a process stopped while storing a sample delays no other process") {
  for (const char* point : kPoints) {
    CAPTURE(point);
    CacheCase test;
    Child child(fails_at(test, point, SIGSTOP));
    child.wait_until_stopped();
    const auto cache = test.open(10, kOptions);
    // While it is stopped, its sample comes from storage.
    CHECK(epoch(*cache, 1) == 9);
    CHECK(epoch(*cache, 2) == 1);
    CHECK_FALSE(cache->find(3));
    child.go_on();
    CHECK(child.wait() == 0);
    check_right(*cache, 3);
    CHECK(epoch(*cache, 3) == 0);
  }
}

TEST_CASE("a sample of a process stopped and then killed is stored by others") {
  for (const char* point : kPoints) {
    CAPTURE(point);
    CacheCase test;
    Child child(fails_at(test, point, SIGSTOP));
    child.wait_until_stopped();
    const auto cache = test.open(10, kOptions);
    CHECK(epoch(*cache, 1) == 9);
    child.kill();
    CHECK(epoch(*cache, 2) == 1);
    CHECK(epoch(*cache, 3) == 0);
  }
}

TEST_CASE("a process with a dead one's number is distinguished from it") {
  CacheCase test;
  Child dead(fails_at(test, "placed", SIGKILL));
  REQUIRE(dead.wait() == 128 + SIGKILL);
  const auto cache = test.open(10, kOptions);
  const CacheOwner owner{.base = test.base(), .user = ::geteuid(), .group = {}};
  auto file = CacheFile::join(owner, "n", {7, 10, "/data", 0});
  REQUIRE(file);
  const SlotWord left = SlotWord::of((*file)->slot(3).word);
  CHECK(left.state == SlotWord::State::kClaimed);
  CHECK(is_member((*file)->fd(), left.member));
  CHECK(epoch(*cache, 1) == 9);
  CHECK(epoch(*cache, 2) == 0);
}

TEST_CASE("a forked worker's claim is not mistaken for its parent's") {
  // A worker is killed; its parent, with another member number, fills.
  CacheCase test;
  const auto cache = test.open(10, kOptions);
  for (const char* point : kPoints) {
    CAPTURE(point);
    Child worker([&](const auto& /*done*/) {
      fault = point;
      fault_signal = SIGKILL;
      for (uint64_t i = 0; i < 10; ++i) {
        if (!cache->find(i)) cache->store(i, sample_bytes(i), int64_t(i));
      }
    });
    const uint64_t before = facts_of(test).ready_samples;
    CHECK(worker.wait() == 128 + SIGKILL);
    CHECK(facts_of(test).ready_samples == before);
    for (uint64_t i = 0; i < 10; ++i) check_right(*cache, i);
    cache->store(before, sample_bytes(before), int64_t(before));
    CHECK(cache->find(before));
  }
  CHECK(epoch(*cache, 1) == 10 - std::size(kPoints));
  CHECK(epoch(*cache, 2) == 0);
}

TEST_CASE("processes killed at random leave only correct samples") {
  constexpr uint64_t kSamples = 500;
  constexpr int kRounds = 30, kProcesses = 6;
  const char* const given = std::getenv("PENSTOCK_TEST_SEED");
  const unsigned first_seed =
      given != nullptr ? unsigned(std::atoi(given)) : std::random_device{}();
  std::cout << "PENSTOCK_TEST_SEED=" << first_seed << "\n";
  for (int round = 0; round < kRounds; ++round) {
    const unsigned seed = first_seed + unsigned(round);
    CAPTURE(seed);
    CacheCase test;
    std::mt19937 random(seed);
    std::vector<std::unique_ptr<Child>> children;
    for (int i = 0; i < kProcesses; ++i) {
      // Some are killed within a step, some after a time, one never.
      const unsigned child_seed = unsigned(random());
      const uint64_t passes = i % 2 == 0 ? 1 + random() % 1500 : 0;
      children.push_back(
          std::make_unique<Child>([&, i, child_seed, passes](const auto& done) {
            ::setenv("SLURM_JOB_ID", i < 3 ? "1" : "2", 1);
            const auto cache = test.open(kSamples, kOptions);
            done();
            passes_left = passes;
            for (unsigned e = 0; e < 3; ++e)
              (void)epoch(*cache, child_seed + e);
            passes_left = 0;
          }));
    }
    for (const auto& child : children) (void)child->wait_until_done();
    for (int i = 1; i < kProcesses - 1; i += 2) {
      ::usleep(useconds_t(random() % 8000));
      ::kill(children[size_t(i)]->pid(), SIGKILL);
    }
    for (const auto& child : children) {
      const int status = child->wait();
      CHECK((status == 0 || status == 128 + SIGKILL));
    }
    CHECK(facts_of(test).damaged == 0);
    const auto cache = test.open(kSamples, kOptions);
    (void)epoch(*cache, seed);
    CHECK(epoch(*cache, seed + 1) == 0);
    for (uint64_t i = 0; i < kSamples; ++i) check_right(*cache, i);
    CHECK(facts_of(test).damaged == 0);
  }
}
