#include "loader/lmdb/sidecar.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/checksum.h"
#include "loader/lmdb/little_endian.h"
#include "tests/unit/catch.h"
#include "tests/unit/lmdb/lmdb_files.h"

using namespace penstock;
using namespace penstock::lmdb;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

const DatabaseOptions kWalk{.use_sidecar = false};

struct Indexed {
  TempFolder folder;
  std::string file = folder.path("a.lmdb");
  Snapshot snapshot;
  RecordIndex index;
  std::string text;

  explicit Indexed(const std::vector<size_t>& sizes) {
    write_lmdb(file, sizes, 1000);
    auto database = Database::open(file, kWalk);
    REQUIRE(database);
    snapshot = database->snapshot();
    index = database->index();
    text = format_sidecar(snapshot, index);
    save(text);
  }
  void save(const std::string& contents) const {
    write_file(sidecar_path(file), bytes_of(contents));
  }
  // Opens the database like a reader; returns why the sidecar was refused.
  std::string refusal(const std::string& contents) const {
    save(contents);
    auto database = Database::open(file, {});
    REQUIRE(database);
    CHECK_FALSE(database->is_from_sidecar());
    CHECK(*records_by_index(*database) ==
          without_keys(records_by_liblmdb(file)));
    return database->sidecar_refusal();
  }
};

std::vector<size_t> irregular(size_t count) {
  std::vector<size_t> sizes;
  for (size_t i = 0; i < count; ++i) {
    sizes.push_back(i % 5 == 0 ? 100 + i % 900 : 3000 + i * 7919 % 20000);
  }
  return sizes;
}

// Appends the checksum of the contents.
std::string sealed(std::string body) {
  uint8_t bytes[8];
  put(bytes, checksum(body));
  return body.append(reinterpret_cast<const char*>(bytes), 8);
}

template <class Number>
std::string with(std::string text, size_t at, Number number) {
  text.resize(text.size() - 8);
  std::memcpy(text.data() + at, &number, sizeof number);
  return sealed(text);
}

}  // namespace

TEST_CASE("a sidecar returns the records without a walk") {
  for (const auto& sizes :
       {std::vector<size_t>(2000, 12288), std::vector<size_t>(20000, 300),
        irregular(3000), std::vector<size_t>{}, std::vector<size_t>{5}}) {
    const Indexed indexed(sizes);
    auto database = Database::open(indexed.file, {});
    REQUIRE(database);
    CHECK(database->is_from_sidecar());
    CHECK(database->sidecar_refusal().empty());
    CHECK(*records_by_index(*database) ==
          without_keys(records_by_liblmdb(indexed.file)));
    CHECK(database->check_intact());
  }
}

TEST_CASE("records of one size are computed, others take a few bytes each") {
  const Indexed regular(std::vector<size_t>(5000, 12288));
  CHECK(regular.index.computed() > 4500);
  CHECK(regular.text.size() < 5000);
  const Indexed mixed(irregular(4000));
  CHECK(mixed.text.size() < size_t{6} * 4000);
}

TEST_CASE("a missing sidecar is not a refusal") {
  const Indexed indexed({10, 20});
  REQUIRE(::unlink(sidecar_path(indexed.file).c_str()) == 0);
  auto database = Database::open(indexed.file, {});
  REQUIRE(database);
  CHECK_FALSE(database->is_from_sidecar());
  CHECK(database->sidecar_refusal().empty());
}

TEST_CASE("a damaged sidecar is refused") {
  const Indexed indexed(irregular(300));
  const std::string& text = indexed.text;
  CHECK_THAT(indexed.refusal("something else"),
             ContainsSubstring("it is another file; write it again with "
                               "`penstock lmdb index`"));
  CHECK_THAT(indexed.refusal(text.substr(0, 90)),
             ContainsSubstring("it is truncated"));
  std::string damaged = text;
  damaged[200] ^= 1;
  CHECK_THAT(indexed.refusal(damaged), ContainsSubstring("checksum is wrong"));
  CHECK_THAT(indexed.refusal(text.substr(0, text.size() - 1)),
             ContainsSubstring("checksum is wrong"));
  CHECK_THAT(indexed.refusal(with(text, 8, uint32_t{1})),
             ContainsSubstring("its version is 1; allowed: 2"));
  CHECK_THAT(indexed.refusal(with(text, 64, uint64_t{301})),
             ContainsSubstring("its counts are wrong"));
  CHECK_THAT(indexed.refusal(with(text, 72, uint64_t{1} << 40)),
             ContainsSubstring("its counts are wrong"));
  CHECK_THAT(indexed.refusal(with(text, 80, uint64_t{299})),
             ContainsSubstring("its parts have 300 records of 300"));
  CHECK_THAT(indexed.refusal(with(text, 88, uint64_t{301})),
             ContainsSubstring("its part 0 is damaged"));
  CHECK_THAT(indexed.refusal(with(text, 88, uint64_t{0})),
             ContainsSubstring("its part 0 is damaged"));
  CHECK_THAT(indexed.refusal(sealed(text.substr(0, text.size() - 9))),
             ContainsSubstring("its list ends early"));
  CHECK_THAT(indexed.refusal(sealed(text.substr(0, text.size() - 8) + "a")),
             ContainsSubstring("its labels end early"));
  CHECK_THAT(indexed.refusal(with(text, 136, uint64_t{0xFFFFFFFFFFFFFFFF})),
             ContainsSubstring("of its list is beyond the database's end"));
}

TEST_CASE("the index contains the labels") {
  const Indexed plain(irregular(300));
  CHECK_FALSE(plain.index.has_labels());
  RecordIndexBuilder builder;
  for (uint64_t i = 0; i < 300; ++i) {
    builder.add(plain.index.at(i),
                i < 10 ? kUnlabelled : static_cast<int32_t>(i / 100));
  }
  const RecordIndex labelled = builder.finish();
  const std::string text = format_sidecar(plain.snapshot, labelled);
  // Four runs.
  CHECK(text.size() == plain.text.size() + 8);
  auto parsed = parse_sidecar(text, plain.snapshot);
  REQUIRE(parsed);
  CHECK(parsed->labels() == labelled.labels());
  CHECK(parsed->label(9) == kUnlabelled);
  CHECK(parsed->label(10) == 0);
  CHECK(parsed->label(299) == 2);
  CHECK_THAT(plain.refusal(text),
             ContainsSubstring("has another label; write it again"));
  const auto damaged = [&](const std::string& section) {
    return plain.refusal(
        sealed(plain.text.substr(0, plain.text.size() - 8) + section));
  };
  const std::string most = "\x80\x80\x80\x80\x08",
                    over = "\x81\x80\x80\x80\x08";
  CHECK_THAT(damaged("\x05"), ContainsSubstring("its labels end early"));
  CHECK_THAT(damaged("\x05\x01"),
             ContainsSubstring("it has labels of 5 records of 300"));
  CHECK_THAT(damaged(std::string("\x00\x01", 2)),
             ContainsSubstring("the label of record 0 is damaged"));
  CHECK_THAT(damaged("\x05\x01\xA8\x02\x01"),
             ContainsSubstring("the label of record 5 is damaged"));
  CHECK_THAT(damaged("\x05" + over),
             ContainsSubstring("the label of record 0 is damaged"));
  parsed = parse_sidecar(
      sealed(plain.text.substr(0, plain.text.size() - 8) + "\xAC\x02" + most),
      plain.snapshot);
  REQUIRE(parsed);
  CHECK(parsed->label(0) == INT32_MAX);
}

TEST_CASE("rows outside the file are refused") {
  const Indexed indexed(std::vector<size_t>(1000, 3000));
  REQUIRE(indexed.index.parts().front().listed == 0);
  // The first part's offset, strides, and counts.
  const struct {
    size_t at;
    uint64_t number;
  } kCases[] = {{96, uint64_t{1} << 63},
                {112, uint64_t{1} << 62},
                {112, static_cast<uint64_t>(-5000000)},
                {120, 0},
                {120, uint64_t{1} << 60},
                {128, uint64_t{1} << 50}};
  for (const auto& it : kCases) {
    // A single row has no stride to the next.
    const std::string two_rows = with(indexed.text, 120, uint64_t{2});
    CHECK_THAT(indexed.refusal(with(two_rows, it.at, it.number)),
               ContainsSubstring("its part 0 is damaged"));
  }
}

TEST_CASE("a sidecar of another state of the database is refused") {
  const Indexed indexed(irregular(300));
  const std::string& text = indexed.text;
  const struct {
    size_t at;
    const char* name;
  } kCases[] = {{12, "page size"},      {16, "size"},
                {24, "time of change"}, {32, "time of change"},
                {36, "depth"},          {40, "last transaction"},
                {48, "root"},           {56, "last page"}};
  for (const auto& it : kCases) {
    CHECK_THAT(indexed.refusal(with(text, it.at, uint32_t{77})),
               ContainsSubstring(std::string("another state of the database: "
                                             "its ") +
                                 it.name + " differs; write it again"));
  }
  {
    LmdbWriter writer(indexed.file);
    writer.begin();
    writer.put("0", "one more");
    writer.commit();
  }
  CHECK_THAT(indexed.refusal(text), ContainsSubstring("differs"));
}

// The identity is right, as for a database rebuilt with other records in the
// same second.
TEST_CASE("a sidecar of other records is refused after checking a sample") {
  const Indexed indexed(irregular(300));
  auto sizes = irregular(300);
  for (size_t& size : sizes) size += 1;
  const Indexed other(sizes);
  std::string text = format_sidecar(indexed.snapshot, other.index);
  CHECK_THAT(indexed.refusal(text),
             ContainsSubstring("the index is not this database's: record 0 is "
                               "elsewhere"));
  // Without the first record only the order differs.
  RecordIndexBuilder builder;
  for (uint64_t i = 1; i < 300; ++i) builder.add(indexed.index.at(i));
  builder.add(indexed.index.at(0));
  text = format_sidecar(indexed.snapshot, builder.finish());
  CHECK_THAT(indexed.refusal(text), ContainsSubstring("record 0 is elsewhere"));
  // Right at both ends only.
  RecordIndexBuilder middle;
  for (uint64_t i = 0; i < 300; ++i) {
    RecordSpan value = indexed.index.at(i);
    if (i >= 60 && i < 240) value.bytes -= 1;
    middle.add(value);
  }
  text = format_sidecar(indexed.snapshot, middle.finish());
  CHECK_THAT(indexed.refusal(text),
             ContainsSubstring("the index is not this database's"));
}

TEST_CASE("the refusal of an unreadable sidecar names it") {
  const Indexed indexed({1});
  REQUIRE(::unlink(sidecar_path(indexed.file).c_str()) == 0);
  REQUIRE(::mkdir(sidecar_path(indexed.file).c_str(), 0700) == 0);
  auto database = Database::open(indexed.file, {});
  REQUIRE(database);
  CHECK(database->sidecar_refusal() ==
        sidecar_path(indexed.file) + ": no regular file");
}
