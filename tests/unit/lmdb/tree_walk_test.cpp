// Databases of all shapes, each record hashed and compared with what liblmdb's
// cursor gives.
#include "loader/lmdb/tree_walk.h"

#include <fcntl.h>

#include <cstdlib>
#include <map>

#include "common/unique_fd.h"
#include "tests/unit/catch.h"
#include "tests/unit/lmdb/lmdb_files.h"

using namespace penstock;
using namespace penstock::test;

namespace {

void check_same(const std::string& file) {
  auto walked = records_by_walk(file);
  INFO((walked ? "" : walked.error().message));
  REQUIRE(walked);
  CHECK(*walked == records_by_liblmdb(file));
  auto database = lmdb::Database::open(file, {});
  REQUIRE(database);
  CHECK(*records_by_index(*database) == without_keys(*walked));
}

int depth_of(const std::string& file) {
  return lmdb::Database::open(file, {})->snapshot().meta.main.depth;
}

uint64_t seed_or(uint64_t otherwise) {
  const char* text = std::getenv("PENSTOCK_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace

TEST_CASE("an empty database has no records") {
  const TempFolder folder;
  const std::string file = folder.path("a.lmdb");
  write_lmdb(file, {});
  check_same(file);
  // A database that was never written has no tree and no last record.
  const std::string other = folder.path("b.lmdb");
  { LmdbWriter only_opened(other); }
  check_same(other);
}

TEST_CASE("small values are in the leaf pages") {
  const TempFolder folder;
  write_lmdb(folder.path("a"), std::vector<size_t>(20000, 100));
  check_same(folder.path("a"));
  CHECK(depth_of(folder.path("a")) == 3);
}

TEST_CASE("large values are in overflow pages") {
  const TempFolder folder;
  write_lmdb(folder.path("a"), std::vector<size_t>(2000, 12345), 300);
  check_same(folder.path("a"));
}

TEST_CASE("small and large values can be mixed") {
  const TempFolder folder;
  std::vector<size_t> sizes;
  // Sizes around a leaf page's limit, around whole overflow pages, and zero.
  for (size_t i = 0; i < 3000; ++i) {
    const size_t choices[] = {0,    1,    i,    2000, 2026, 2027,
                              2038, 4080, 4081, 8176, 8177, 65536 + i};
    sizes.push_back(choices[i % std::size(choices)]);
  }
  write_lmdb(folder.path("a"), sizes, 700);
  check_same(folder.path("a"));
}

TEST_CASE("long keys make a deep tree") {
  const TempFolder folder;
  {
    LmdbWriter writer(folder.path("a"));
    writer.begin();
    for (uint64_t i = 0; i < 20000; ++i) {
      writer.put(std::string(500, 'k') + number_key(i), "v");
    }
    writer.commit();
  }
  check_same(folder.path("a"));
  CHECK(depth_of(folder.path("a")) >= 5);
}

TEST_CASE("deleted records and aborted transactions leave no trace") {
  const TempFolder folder;
  write_lmdb(folder.path("a"), std::vector<size_t>(5000, 3000), 1000);
  LmdbWriter writer(folder.path("a"));
  writer.begin();
  for (uint64_t i = 0; i < 5000; ++i) {
    if (i % 3 != 0) writer.remove(number_key(i));
  }
  writer.commit();
  check_same(folder.path("a"));
  writer.begin();
  for (uint64_t i = 0; i < 500; ++i) writer.put(number_key(i), "new");
  writer.abort();
  check_same(folder.path("a"));
  writer.begin();
  for (uint64_t i = 0; i < 5000; ++i) writer.remove(number_key(i));
  writer.commit();
  check_same(folder.path("a"));
}

TEST_CASE("keys of another order come in the tree's order") {
  const TempFolder folder;
  LmdbWriter writer(folder.path("a"), MDB_REVERSEKEY);
  writer.begin();
  for (uint64_t i = 0; i < 3000; ++i) writer.put(number_key(i), "v");
  writer.commit();
  check_same(folder.path("a"));
}

// Insertions, deletions and replacements at random, in transactions that are
// committed or aborted; after some of them every record is compared.
TEST_CASE("after any operations the records equal those of liblmdb") {
  const uint64_t seed = seed_or(std::random_device()());
  INFO("PENSTOCK_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  const TempFolder folder;
  LmdbWriter writer(folder.path("a"));
  const uint64_t keys = 200 + random() % 4000;
  for (int round = 0; round < 30; ++round) {
    writer.begin();
    const bool grows = random() % 3 != 0;
    for (uint64_t i = random() % 600; i > 0; --i) {
      const std::string key(1 + random() % (random() % 8 == 0 ? 500 : 12),
                            static_cast<char>(random()));
      const std::string number = number_key(random() % keys);
      if (random() % 4 < (grows ? 1U : 3U)) {
        writer.remove(number);
      } else {
        const size_t most = random() % 4 == 0 ? 40000 : 600;
        writer.put(random() % 16 == 0 ? key : number,
                   random_value(random, random() % most));
      }
    }
    if (random() % 8 == 0) {
      writer.abort();
    } else {
      writer.commit();
    }
    if (round % 3 == 0) check_same(folder.path("a"));
  }
}

TEST_CASE("divided leaf pages can be walked separately") {
  const TempFolder folder;
  write_lmdb(folder.path("a"), std::vector<size_t>(4000, 500));
  const UniqueFd fd(::open(folder.path("a").c_str(), O_RDONLY));
  auto snapshot = lmdb::take_snapshot(fd.get());
  REQUIRE(snapshot);
  lmdb::FilePages pages(fd.get(), lmdb::PageBatch());
  auto leaves = lmdb::find_leaves(pages, *snapshot);
  REQUIRE(leaves);
  REQUIRE(leaves->size() > 100);
  std::vector<std::string> keys;
  const std::span<const uint64_t> all(*leaves);
  const auto take = [&](const lmdb::Record& record) {
    keys.emplace_back(record.key);
  };
  for (size_t from = 0; from < all.size(); from += 37) {
    const size_t count = std::min<size_t>(37, all.size() - from);
    REQUIRE(
        lmdb::walk_leaves(pages, *snapshot, all.subspan(from, count), take));
  }
  REQUIRE(keys.size() == 4000);
  for (uint64_t i = 0; i < keys.size(); ++i) CHECK(keys[i] == number_key(i));
}
