// One process's side of a cache: it releases memory when memory runs short, and
// trusts no data that other processes wrote into the file.
#include "loader/cache/cache_core.h"

#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "common/clock.h"
#include "loader/cache/cache_file.h"
#include "tests/unit/loader_cache/cache_case.h"
#include "tests/unit/loader_cache/children.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr uint64_t kMany = 100'000'000;
constexpr uint64_t kSamples = 400;
constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kLimit = 160 * kMiB;  // of which 10 MiB stay free
constexpr uint64_t kSampleBytes = 20'000;

struct CoreCase : CacheCase {
  std::vector<std::string> warned;
  // Free memory of the job's cgroup; nullopt: no limit.
  std::shared_ptr<std::optional<MemoryRoom>> room =
      std::make_shared<std::optional<MemoryRoom>>();

  std::unique_ptr<CacheCore> open(uint64_t job = 1,
                                  uint64_t most_bytes = kMany) {
    const CacheOwner owner = own_cache_folder();
    auto file = CacheFile::join(owner, "n", {7, kSamples, "/d", 100});
    REQUIRE(file);
    auto share = FillShare::open((*file)->shares(), job, most_bytes);
    REQUIRE(share);
    return std::make_unique<CacheCore>(
        *std::move(file), *share, [room = room] { return *room; },
        [this](const std::string& what) { warned.push_back(what); });
  }
  // Programs leave this many bytes, and the next reading is due.
  void leave(uint64_t left_bytes) const {
    *room = MemoryRoom{kLimit, left_bytes};
    std::this_thread::sleep_for(
        std::chrono::nanoseconds(MemoryWatch::kPeriod_ns + 1'000'000));
  }
};

std::vector<uint8_t> bytes_of_sample(uint64_t index) {
  std::vector<uint8_t> bytes(kSampleBytes);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(index * 31 + i * 7 + i / 256);
  }
  return bytes;
}

void fill(CacheCore& core, uint64_t from, uint64_t to) {
  for (uint64_t i = from; i < to; ++i) core.store(i, bytes_of_sample(i), 1);
}

// The cached samples; checks each of them.
std::vector<uint64_t> held(CacheCore& core) {
  std::vector<uint64_t> indices;
  for (uint64_t i = 0; i < kSamples; ++i) {
    const auto bytes = core.find(i);
    if (!bytes) continue;
    std::vector<uint8_t> out(*bytes);
    int64_t label = 0;
    if (!core.read(i, out, label)) continue;
    CHECK(out == bytes_of_sample(i));
    indices.push_back(i);
  }
  return indices;
}

std::vector<uint64_t> numbers(uint64_t from, uint64_t to) {
  std::vector<uint64_t> all;
  for (uint64_t i = from; i < to; ++i) all.push_back(i);
  return all;
}

uint64_t memory_of(const CacheCore& core) {
  struct stat status {};
  REQUIRE(::fstat(core.file().fd(), &status) == 0);
  return static_cast<uint64_t>(status.st_blocks) * 512;
}

uint64_t filled_by(const CacheCore& core, uint64_t job) {
  for (const auto& share : core.file().shares().shares) {
    if (share.key == job) return share.filled_bytes;
  }
  return 0;
}

constexpr uint64_t kPlace = place_bytes(kSampleBytes + 8);

// Invalid slot words for a file whose places end at `end`.
std::vector<uint64_t> hostile_words(uint64_t end) {
  const auto word = [](SlotWord::State state, uint64_t offset) {
    return SlotWord{state, 1000, 1, offset}.packed();
  };
  using enum SlotWord::State;
  return {word(kReady, 0), word(kReady, 64), word(kReady, kSlotsOffset),
          word(kReady, end), word(kReady, end - 64), word(kReady, end + kMiB),
          word(kReady, kMostOffset - 64), UINT64_MAX, UINT64_MAX - 1, 3,
          // Claims of no living member, with places in the index and beyond the
          // file.
          word(kClaimed, 64), word(kClaimed, kSlotsOffset),
          word(kClaimed, end + kMiB), word(kClaimed, kMostOffset - 64)};
}

}  // namespace

TEST_CASE("no sample is stored if memory would run short") {
  CoreCase test;
  *test.room = MemoryRoom{kLimit, kLimit / 16 + 10 * kPlace};
  const auto core = test.open();
  fill(*core, 0, 20);
  CHECK(held(*core) == numbers(0, 10));
  REQUIRE(test.warned.size() == 1);
  CHECK_THAT(test.warned[0],
             ContainsSubstring("the job's memory cgroup leaves no more"));
}

TEST_CASE("for programs the newest samples are dropped, no more than needed") {
  CoreCase test;
  const auto core = test.open();
  fill(*core, 0, 400);
  const uint64_t before = memory_of(*core);
  test.leave(kLimit / 16 - 6 * kMiB);
  (void)held(*core);
  test.leave(kLimit);
  const auto kept = held(*core);
  CHECK(kept == numbers(0, kept.size()));
  const uint64_t freed = before - memory_of(*core);
  CHECK(freed >= 6 * kMiB - 8192);
  CHECK(freed <= 6 * kMiB + 5 * kPlace);
  CHECK(core->counters().dropped == 400 - kept.size());
  CHECK(core->file().header().dropped == 400 - kept.size());
  CHECK(core->file().header().ready_samples == kept.size());
  CHECK(filled_by(*core, 1) == kept.size() * kPlace);
  REQUIRE(test.warned.size() == 1);
  CHECK_THAT(test.warned[0], ContainsSubstring("bytes back"));
}

TEST_CASE("a refilled cache drops samples again, and not all at once") {
  CoreCase test;
  const auto core = test.open();
  fill(*core, 0, 400);
  test.leave(kLimit / 16 - 6 * kMiB);
  (void)held(*core);
  test.leave(kLimit);
  fill(*core, 0, 400);
  REQUIRE(held(*core).size() == 400);
  test.leave(kLimit / 16 - 6 * kMiB);
  (void)held(*core);
  test.leave(kLimit);
  const uint64_t dropped = 400 - held(*core).size();
  CHECK(dropped * kPlace >= 6 * kMiB);
  CHECK(dropped * kPlace <= 6 * kMiB + 5 * kPlace);
  fill(*core, 0, 400);
  CHECK(held(*core).size() == 400);
}

TEST_CASE("any process of the job drops samples for programs at once") {
  CoreCase test;
  const auto core = test.open(), other = test.open();
  for (const auto* looks : {&core, &other}) {
    fill(*core, 0, 400);
    const uint64_t before = held(*core).size();
    test.leave(kLimit / 16 - 6 * kMiB);
    (void)held(**looks);
    test.leave(kLimit);
    CHECK((before - held(*core).size()) * kPlace >= 6 * kMiB);
  }
}

TEST_CASE("only one process drops samples until memory figures are updated") {
  CoreCase test;
  const auto core = test.open(), other = test.open();
  fill(*core, 0, 400);
  test.leave(0);  // less than the reserve: samples must be dropped
  core->store(0, bytes_of_sample(0), 1);
  other->store(0, bytes_of_sample(0), 1);
  CHECK(core->counters().dropped > 0);
  CHECK(other->counters().dropped == 0);
}

TEST_CASE("a job drops only the samples that its own memory holds") {
  CoreCase test;
  const auto core = test.open(1);
  const auto other = test.open(2);
  for (uint64_t i = 0; i < 400; ++i) {
    (i % 4 == 0 ? core : other)->store(i, bytes_of_sample(i), 1);
  }
  const uint64_t others_bytes = filled_by(*core, 2);
  test.leave(0);
  core->store(0, bytes_of_sample(0), 1);
  CHECK(core->counters().dropped == 100);
  CHECK(filled_by(*core, 1) == 0);
  CHECK(filled_by(*core, 2) == others_bytes);
  test.leave(kLimit);
  CHECK(held(*other).size() == 300);
}

TEST_CASE("a place of a killed process is charged to the job that reuses it") {
  CoreCase test;
  const auto core = test.open(1);
  // A process of job 2 was killed while it had a place.
  Slot& slot = core->file().slot(5);
  const auto leave_place = [&] {
    auto dead = FillShare::open(core->file().shares(), 2, kMany);
    REQUIRE(dead);
    REQUIRE(dead->take(kPlace));
    slot.facts = uint64_t{dead->number()} << 32 | (kSampleBytes + 8);
    slot.word = SlotWord{SlotWord::State::kClaimed, 900, 3,
                         core->file().header().end_offset.fetch_add(kPlace)}
                    .packed();
  };
  leave_place();
  fill(*core, 0, 10);
  CHECK(held(*core) == numbers(0, 10));
  CHECK(filled_by(*core, 2) == 0);
  CHECK(filled_by(*core, 1) == 10 * kPlace);
  test.leave(0);
  core->store(0, bytes_of_sample(0), 1);
  CHECK(filled_by(*core, 1) == 0);
}

TEST_CASE("an invalid slot is never served and does no harm") {
  CoreCase test;
  const auto core = test.open();
  fill(*core, 0, 400);
  CacheFile& file = core->file();
  const uint64_t facts = file.slot(1).facts;
  for (size_t i = 0; i < hostile_words(0).size(); ++i) {
    for (const uint64_t said :
         {facts, uint64_t{0}, uint64_t{7}, uint64_t{UINT32_MAX}, UINT64_MAX}) {
      const uint64_t word = hostile_words(file.header().end_offset)[i];
      CAPTURE(word, said);
      file.slot(1).word = word;
      file.slot(1).facts = said;
      const auto bytes = core->find(1);
      if (bytes) {
        REQUIRE(*bytes < kMiB);
        std::vector<uint8_t> out(*bytes);
        int64_t label = 0;
        CHECK_FALSE(core->read(1, out, label));
      }
      core->store(1, bytes_of_sample(1), 1);
      core->store(1, bytes_of_sample(1),
                  1);  // the first store may only empty the slot
      REQUIRE(core->find(1));
      CHECK(file.header().magic == kCacheMagic);
    }
  }
  CHECK(held(*core).size() == 400);
}

TEST_CASE("an invalid header never causes a write outside the cache") {
  CoreCase test;
  const auto core = test.open();
  CacheFile& file = core->file();
  for (const uint64_t end :
       {uint64_t{0}, uint64_t{64}, cache_data_offset(kSamples) + 1,
        kMostOffset - 64, kMostOffset, UINT64_MAX - 63, UINT64_MAX}) {
    CAPTURE(end);
    file.header().end_offset = end;
    core->store(2, bytes_of_sample(2), 1);
    CHECK_FALSE(core->find(2));
    CHECK(file.header().magic == kCacheMagic);
    CHECK(file.slot(2).word == 0);
  }
  CHECK(filled_by(*core, 1) == 0);
  file.header().end_offset = cache_data_offset(kSamples);
  file.header().samples = uint64_t{1} << 40;
  file.header().data_offset = 0;
  fill(*core, 0, 10);
  test.leave(0);
  core->store(0, bytes_of_sample(0), 1);
  CHECK(core->counters().dropped == 10);
}

TEST_CASE("a sample too large for a slot is not stored") {
  CoreCase test;
  const auto core = test.open(1, 1'000);
  core->store(0, bytes_of_sample(0), 1);
  CHECK_FALSE(core->find(0));
  CHECK(core->file().header().end_offset == cache_data_offset(kSamples));
  core->store(0, std::vector<uint8_t>(952), 1);  // with its label 960
  CHECK(core->find(0) == 952U);
}

TEST_CASE("processes beyond the limit read samples and store none") {
  CoreCase test;
  const auto core = test.open();
  fill(*core, 0, 1);
  // All other numbers are taken.
  std::vector<Membership> members;
  for (;;) {
    auto member = Membership::join(core->file().fd(), core->file().members());
    if (!member) break;
    members.push_back(*std::move(member));
  }
  CHECK(in_child([&] {
          core->store(1, bytes_of_sample(1), 1);
          if (core->find(1)) ::_exit(1);
          if (held(*core).size() != 1) ::_exit(2);
        }) == 0);
  fill(*core, 1, 2);  // the parent has its own number
  CHECK(core->find(1));
}
