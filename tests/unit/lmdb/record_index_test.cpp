#include "loader/lmdb/record_index.h"

#include <random>

#include "tests/unit/catch.h"

using namespace penstock::lmdb;

namespace {

RecordIndex index_of(const std::vector<RecordSpan>& records) {
  RecordIndexBuilder builder;
  for (const RecordSpan& record : records) builder.add(record);
  return builder.finish();
}

void check_same(const RecordIndex& index,
                const std::vector<RecordSpan>& records) {
  REQUIRE(index.size() == records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    CHECK(index.at(i) == records[i]);
    CHECK(index.find(records[i]) == i);
  }
}

}  // namespace

TEST_CASE("equally spaced rows of records take one part") {
  std::vector<RecordSpan> records;
  for (uint64_t row = 0; row < 50; ++row) {
    for (uint64_t i = 0; i < 20; ++i) {
      records.push_back({1000000 + row * 90000 + i * 4096, 3000});
    }
  }
  const RecordIndex index = index_of(records);
  check_same(index, records);
  CHECK(index.parts().size() == 1);
  CHECK(index.computed() == records.size());
  CHECK_FALSE(index.find({1000001, 3000}));
  CHECK_FALSE(index.find({1000000, 3001}));
  CHECK_FALSE(index.find({1000000 + 20 * 4096, 3000}));
  CHECK_FALSE(index.find({1000000 - 4096, 3000}));
}

TEST_CASE("rows may have negative strides") {
  std::vector<RecordSpan> records;
  for (uint64_t row = 0; row < 50; ++row) {
    for (uint64_t i = 0; i < 10; ++i) {
      records.push_back({10000000 - row * 4096 - i * 100, 80});
    }
  }
  const RecordIndex index = index_of(records);
  check_same(index, records);
  CHECK(index.parts().size() == 1);
}

TEST_CASE("short rows and irregular records are listed") {
  std::vector<RecordSpan> records;
  for (uint32_t i = 0; i < 100; ++i)
    records.push_back({uint64_t{i} * 5000, 100 + i});
  RecordIndex index = index_of(records);
  check_same(index, records);
  CHECK(index.parts().size() == 1);
  CHECK(index.computed() == 0);
  CHECK_FALSE(index.find({0, 101}));
  // Between two lists: a row.
  for (uint64_t i = 0; i < 30; ++i) records.push_back({600000 + i * 512, 500});
  for (uint32_t i = 0; i < 9; ++i)
    records.push_back({700000 + uint64_t{i} * i, 9 - i});
  index = index_of(records);
  check_same(index, records);
  CHECK(index.parts().size() == 3);
  CHECK(index.computed() == 30);
}

TEST_CASE("an empty index has no records") {
  const RecordIndex index = index_of({});
  CHECK(index.size() == 0);
  CHECK_FALSE(index.find({0, 0}));
}

TEST_CASE("the index returns any records unchanged") {
  const uint64_t seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 100; ++round) {
    std::vector<RecordSpan> records;
    uint64_t offset = 1000000;
    while (records.size() < 300) {
      const uint64_t stride = 64 + random() % 3 * 64;
      const auto bytes = static_cast<uint32_t>(random() % 3);
      for (uint64_t i = random() % 30; i > 0; --i) {
        records.push_back({offset, bytes});
        offset += stride;
      }
      offset += random() % 4 * 4096;
    }
    const RecordIndex index = index_of(records);
    REQUIRE(index.size() == records.size());
    for (size_t i = 0; i < records.size(); ++i) {
      REQUIRE(index.at(i) == records[i]);
      REQUIRE(index.find(records[i]));
    }
  }
}
