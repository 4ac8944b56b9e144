// Chunks by liblmdb's cursor, without MPI: one rank, steps of one record.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "loader/lmdb/mpi/chunk_source.h"
#include "tests/unit/catch.h"
#include "tests/unit/lmdb/lmdb_files.h"

using namespace penstock;
using namespace penstock::lmdb;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr uint32_t kRecords = 20;

struct Opened {
  DataFile file;
  Snapshot snapshot;
  RunPlan plan;
  std::vector<uint8_t> data = std::vector<uint8_t>(1 << 20);
  std::vector<SlotEntry> entries = std::vector<SlotEntry>(kRecords);

  explicit Opened(const std::string& path) : file(*open_data_file(path)) {
    snapshot = *take_snapshot(file.fd.get());
    plan.batches = {kRecords, 1, 1, kRecords};
  }
  Result<std::unique_ptr<ChunkSource>> source() {
    return make_cursor_source(file, snapshot, plan);
  }
  Result<bool> fill(ChunkSource& source) {
    return source.fill(plan.batches.chunk(0), entries,
                       [&] { return Result<std::span<uint8_t>>(data); });
  }
};

std::string make_database(const std::string& path, size_t bytes = 300) {
  write_lmdb(path, std::vector<size_t>(kRecords, bytes));
  return path;
}

void commit(LmdbWriter& writer) {
  writer.begin();
  writer.put("new", "v");
  writer.commit();
}

template <class T>
void check_written(const Result<T>& result) {
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::kUnavailable);
  CHECK_THAT(result.error().message,
             ContainsSubstring("the database is being written"));
}

}  // namespace

TEST_CASE("a chunk has the records of the cursor") {
  const TempFolder folder;
  Opened it(make_database(folder.path("a")));
  auto source = it.source();
  REQUIRE(source);
  const Result<bool> is_mapped = it.fill(**source);
  REQUIRE(is_mapped);
  CHECK_FALSE(*is_mapped);
  CHECK(it.entries[kRecords - 1].index == kRecords - 1);
  CHECK(it.entries[kRecords - 1].bytes == 300);
}

TEST_CASE("a state of liblmdb other than the agreed one is refused") {
  const TempFolder folder;
  const std::string file = make_database(folder.path("a"));
  Opened it(file);
  {
    LmdbWriter writer(file);
    commit(writer);
  }
  check_written(it.source());
}

TEST_CASE("a file of liblmdb other than the open one is refused") {
  const TempFolder folder;
  const std::string file = make_database(folder.path("a"));
  Opened it(file);
  make_database(folder.path("b"), 301);
  REQUIRE(::rename(folder.path("b").c_str(), file.c_str()) == 0);
  check_written(it.source());
}

TEST_CASE("after two committed transactions no chunk is returned") {
  const TempFolder folder;
  const std::string file = make_database(folder.path("a"));
  LmdbWriter writer(file);
  Opened it(file);
  auto source = it.source();
  REQUIRE(source);
  commit(writer);
  REQUIRE(it.fill(**source));
  commit(writer);
  check_written(it.fill(**source));
}

TEST_CASE("a folder's lock file is the writer's, and no other is created") {
  const TempFolder folder;
  make_database(folder.path("data.mdb"));
  REQUIRE(::unlink(folder.path("data.mdb-lock").c_str()) == 0);
  Opened it(folder.path());
  REQUIRE(it.source());
  CHECK(std::filesystem::exists(folder.path("lock.mdb")));
  CHECK_FALSE(std::filesystem::exists(folder.path("data.mdb-lock")));
}
