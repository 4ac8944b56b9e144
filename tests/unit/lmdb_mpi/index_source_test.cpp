// Chunks from the index, without MPI: one rank, steps of one record.
#include <fcntl.h>

#include <cstring>

#include "loader/lmdb/mpi/chunk_source.h"
#include "tests/unit/catch.h"
#include "tests/unit/lmdb/lmdb_files.h"

using namespace penstock;
using namespace penstock::lmdb;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr uint32_t kRecords = 40;

struct Chunked {
  TempFolder folder;
  std::string file = folder.path("a");
  std::optional<Database> database;
  std::optional<MappedFile> map;
  RunPlan plan;
  ReaderOptions options;
  std::optional<CachedBlocks> cached;
  IndexReading reading;
  std::vector<uint8_t> data = std::vector<uint8_t>(1 << 20);
  std::vector<SlotEntry> entries = std::vector<SlotEntry>(kRecords);

  explicit Chunked(size_t record_bytes = 6000) {
    write_lmdb(file, std::vector<size_t>(kRecords, record_bytes));
    database.emplace(*Database::open(file, {}));
    const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    ::fsync(fd.get());
    map.emplace(
        *MappedFile::map(database->fd(), database->snapshot().file_bytes));
    plan.batches = {kRecords, 1, 1, kRecords};
    plan.order = EpochOrder(kRecords, 0);
  }

  Result<bool> fill() {
    return make_index_source(*database, *map, plan, options, reading)
        ->fill(plan.batches.chunk(0), entries,
               [&] { return Result<std::span<uint8_t>>(data); });
  }
};

// Ways of reading chunks: mapped, prefetched into the cache, copied, read.
void set_way(Chunked& it, int way) {
  it.options.map_cached = way < 2;
  it.cached.emplace(it.map->bytes());
  it.reading.cached = way == 1 ? &*it.cached : nullptr;
  it.options.dio = it.options.coal = way == 3;
  if (way == 1) ::posix_fadvise(it.database->fd(), 0, 0, POSIX_FADV_DONTNEED);
}

}  // namespace

TEST_CASE("a chunk has the records' bytes in each way of reading") {
  Chunked it;
  set_way(it, GENERATE(0, 1, 2, 3));
  const Result<bool> is_mapped = it.fill();
  REQUIRE(is_mapped);
  CHECK(*is_mapped == it.options.map_cached);
  const uint8_t* const base = *is_mapped ? it.map->data() : it.data.data();
  for (uint32_t i = 0; i < kRecords; ++i) {
    const RecordSpan span = it.database->index().at(i);
    CHECK(it.entries[i].index == i);
    REQUIRE(it.entries[i].bytes == span.bytes);
    CHECK(std::memcmp(base + it.entries[i].place, it.map->data() + span.offset,
                      span.bytes) == 0);
  }
}

TEST_CASE(
    "after two committed transactions no chunk is returned from the index") {
  Chunked it;
  set_way(it, GENERATE(0, 1, 2, 3));
  LmdbWriter writer(it.file);
  for (int i = 0; i < 2; ++i) {
    writer.begin();
    writer.put("k", "v");
    writer.commit();
  }
  const Result<bool> filled = it.fill();
  REQUIRE_FALSE(filled);
  CHECK(filled.error().code == Code::kUnavailable);
  CHECK_THAT(filled.error().message,
             ContainsSubstring(it.file + ": the database is being written"));
}

// The checks of a shuffled chunk skip two of three of its 40 records. A bad
// record that they skip must be an error, not a signal.
TEST_CASE("an unavailable page is an error and not a signal") {
  Chunked it;
  set_way(it, GENERATE(0, 1, 2));
  it.plan.shuffle = true;
  RecordIndexBuilder builder;
  const RecordSpan first = it.database->index().at(0);
  const uint64_t missing = it.plan.record_at(0, 1);
  for (uint32_t i = 0; i < kRecords; ++i) {
    builder.add(i == missing ? RecordSpan{it.map->bytes() + (1 << 30), 100}
                             : first);
  }
  it.database->set_index(builder.finish());
  const Result<bool> filled = it.fill();
  REQUIRE_FALSE(filled);
  CHECK(filled.error().code == Code::kIo);
  CHECK_THAT(filled.error().message,
             ContainsSubstring(it.file + ": cannot read at byte "));
}

TEST_CASE("empty values are records") {
  Chunked it(0);
  set_way(it, GENERATE(0, 1, 2, 3));
  it.options.coal = false;
  REQUIRE(it.fill());
  CHECK(it.entries[kRecords - 1].index == kRecords - 1);
  CHECK(it.entries[kRecords - 1].bytes == 0);
}
