// The part of a cache that each job may fill.
#include "loader/cache/fill_share.h"

#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "tests/unit/loader_cache/children.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// A table shared by processes.
struct Table {
  ShareTable* shares = static_cast<ShareTable*>(
      ::mmap(nullptr, sizeof(ShareTable), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  Table() = default;
  ~Table() { ::munmap(shares, sizeof(ShareTable)); }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  FillShare open(uint64_t key, uint64_t most_bytes) const {
    auto share = FillShare::open(*shares, key, most_bytes);
    REQUIRE(share);
    return *share;
  }
};

}  // namespace

TEST_CASE("a job fills at most its share, to the byte") {
  const Table table;
  FillShare share = table.open(1, 100);
  CHECK(share.take(60));
  CHECK_FALSE(share.take(41));
  CHECK(share.take(40));
  CHECK_FALSE(share.take(1));
  CHECK(share.take(0));
  CHECK(share.filled_bytes() == 100);
  share.give(30);
  CHECK(share.filled_bytes() == 70);
  CHECK(share.take(30));
}

TEST_CASE(
    "a job's processes have a common share, the largest that one requests") {
  const Table table;
  FillShare first = table.open(1, 100);
  FillShare second = table.open(1, 150);
  const FillShare third = table.open(1, 20);
  CHECK(first.number() == second.number());
  CHECK(third.most_bytes() == 150);
  CHECK(first.take(100));
  CHECK_FALSE(second.take(51));
  CHECK(second.take(50));
}

TEST_CASE("jobs with the same hash have separate shares") {
  const Table table;
  FillShare first = table.open(5, 100);
  FillShare second = table.open(5 + kShares, 100);
  CHECK(first.number() != second.number());
  CHECK(first.take(100));
  CHECK(second.take(100));
  CHECK(table.open(5 + kShares, 0).number() == second.number());
}

TEST_CASE("at most 1024 jobs have shares") {
  const Table table;
  std::set<uint32_t> numbers;
  for (uint64_t job = 1; job <= kShares; ++job) {
    numbers.insert(table.open(job * 77, 1).number());
  }
  CHECK(numbers.size() == kShares);
  auto late = FillShare::open(*table.shares, 1'000'000, 1);
  REQUIRE_FALSE(late);
  CHECK(late.error().code == Code::kLimit);
  CHECK_THAT(late.error().message,
             ContainsSubstring("1024 jobs") && ContainsSubstring("cache drop"));
  CHECK(FillShare::open(*table.shares, 77, 1));
}

TEST_CASE("processes that open shares at once create one entry for each job") {
  const Table table;
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(std::make_unique<Child>([&](const auto& /*done*/) {
      for (uint64_t job = 1; job <= 200; ++job) {
        FillShare share = table.open(job * kShares, 1000);
        if (!share.take(1)) ::_exit(1);
      }
    }));
  }
  for (const auto& child : children) CHECK(child->wait() == 0);
  uint64_t used = 0;
  for (const ShareTable::Share& share : table.shares->shares) {
    if (share.key == 0) continue;
    ++used;
    CHECK(share.filled_bytes == 8);
  }
  CHECK(used == 200);
}

TEST_CASE("threads that fill together stay within the share") {
  const Table table;
  const FillShare share = table.open(1, 100'000);
  std::atomic<uint64_t> taken = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, own = share]() mutable {
      for (int i = 0; i < 20'000; ++i) taken += own.take(7) ? 7 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(taken == 99'995);
  CHECK(share.filled_bytes() == taken);
}

TEST_CASE("a share that is exceeded already grants nothing") {
  const Table table;
  FillShare share = table.open(1, 100);
  table.shares->shares[share.number()].filled_bytes = 200;
  CHECK_FALSE(share.take(0));
  CHECK_FALSE(share.take(UINT64_MAX));
}

TEST_CASE("a damaged entry never becomes negative") {
  const Table table;
  FillShare share = table.open(1, 100);
  REQUIRE(share.take(10));
  share.give(64);
  CHECK(share.filled_bytes() == 0);
  CHECK(share.take(100));
}

TEST_CASE("one process of a job gets the turn in each interval") {
  const Table table;
  FillShare share = table.open(1, 100);
  FillShare other = table.open(1, 100);
  FillShare another_job = table.open(2, 100);
  CHECK(share.is_turn(1000, 100));
  CHECK_FALSE(share.is_turn(1050, 100));
  CHECK_FALSE(other.is_turn(1099, 100));
  CHECK(another_job.is_turn(1050, 100));
  CHECK(other.is_turn(1100, 100));
  CHECK_FALSE(share.is_turn(1100, 100));
}

TEST_CASE("a job is identified by Slurm's job id, else by its memory cgroup") {
  const char* const before = std::getenv("SLURM_JOB_ID");
  const std::string job = before == nullptr ? "" : before;
  ::setenv("SLURM_JOB_ID", "17", 1);
  const uint64_t key = own_job_key();
  CHECK(own_job_key() == key);
  ::setenv("SLURM_JOB_ID", "18", 1);
  CHECK(own_job_key() != key);
  ::unsetenv("SLURM_JOB_ID");
  CHECK(own_job_key() != key);
  CHECK(own_job_key() != 0);
  CHECK(in_child([own = own_job_key()] {
          if (own_job_key() != own) ::_exit(1);
        }) == 0);
  if (before != nullptr) ::setenv("SLURM_JOB_ID", job.c_str(), 1);
}
