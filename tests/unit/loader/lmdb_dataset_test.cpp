// The LMDB databases of penstock/loader/dataset.h.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/lmdb/import.h"
#include "loader/lmdb/sidecar.h"
#include "loader/lmdb/sidecar_file.h"
#include "penstock/loader/pipeline.h"
#include "tests/unit/catch.h"
#include "tests/unit/lmdb/lmdb_files.h"
#include "tests/unit/loader/tars.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr uint64_t kSecond = 1000000000;

// A database of some values, in leaf pages and in overflow pages.
struct Values {
  TempFolder folder;
  std::string file = folder.path("data.mdb");
  std::vector<std::string> values;
  std::vector<int64_t> labels;

  explicit Values(int count) {
    std::mt19937_64 random(7);
    LmdbWriter writer(file);
    writer.begin();
    for (int i = 0; i < count; ++i) {
      values.push_back(random_value(random, i % 3 == 0 ? 9000 + i : 50 + i));
      labels.push_back(i % 5 == 0 ? kNoLabel : i * 1000);
      writer.put(lmdb::record_key(i, static_cast<int32_t>(labels.back())),
                 values.back());
    }
    writer.commit();
  }
  std::shared_ptr<const Dataset> open() const {
    auto dataset = open_lmdb(file);
    REQUIRE(dataset);
    return *dataset;
  }
  void write_index() const {
    auto database = lmdb::Database::open(file, {.use_sidecar = false});
    REQUIRE(database);
    REQUIRE(lmdb::write_sidecar(*database));
    CHECK(lmdb::Database::open(file, {})->is_from_sidecar());
  }
  void commit(const std::string& key) const {
    LmdbWriter writer(file);
    writer.begin();
    writer.put(key, "value");
    writer.commit();
  }
};

Result<std::string> read_sample(SampleReader& reader, uint64_t index,
                                SampleSource source = SampleSource::kUsual) {
  auto bytes = reader.open(index, source);
  if (!bytes) return std::move(bytes).error();
  auto read = reader.read();
  if (!read) return std::move(read).error();
  CHECK(read->size() == *bytes);
  return std::string(read->begin(), read->end());
}

Error read_error(SampleReader& reader, uint64_t index) {
  auto read = read_sample(reader, index);
  REQUIRE_FALSE(read);
  return read.error();
}

// All samples of a run, in order.
struct Loaded {
  std::vector<float> pixels;
  std::vector<int64_t> labels;
  std::vector<uint64_t> indices;
  bool operator==(const Loaded&) const = default;
};

Loaded load(const std::shared_ptr<const Dataset>& dataset, ReadMode mode) {
  PipelineOptions options;
  options.batch_samples = 4;
  options.crop_side = 24;
  options.seed = 5;
  options.total_samples = 2 * dataset->size();
  options.threads = 2;
  options.threads_max = 2;
  options.read_mode = mode;
  options.broken = BrokenSamples::kFatal;
  auto pipeline = Pipeline::create(dataset, options, {});
  REQUIRE(pipeline);
  Loaded loaded;
  while (!(*pipeline)->finished()) {
    auto batch = (*pipeline)->next(kSecond);
    if (!batch) FAIL(batch.error().message);
    if (!*batch) continue;
    const Batch& it = **batch;
    loaded.pixels.insert(loaded.pixels.end(), it.data,
                         it.data + it.size * it.sample_floats);
    loaded.labels.insert(loaded.labels.end(), it.labels, it.labels + it.size);
    loaded.indices.insert(loaded.indices.end(), it.indices,
                          it.indices + it.size);
    (*pipeline)->release(it);
  }
  return loaded;
}

void check_same_batches(const std::vector<std::string>& source,
                        const std::string& database) {
  auto from = open_dataset(source);
  REQUIRE(from);
  REQUIRE(lmdb::import_samples(**from, database,
                               [](uint64_t, uint64_t) { return true; }));
  const Loaded expected = load(*from, ReadMode::kBuffered);
  REQUIRE(expected.labels.size() == 2 * (*from)->size());
  auto to = open_dataset({database});
  REQUIRE(to);
  CHECK(load(*to, ReadMode::kBuffered) == expected);
  REQUIRE(::unlink((database + "/data.mdb.penstock-index").c_str()) == 0);
  to = open_dataset({database + "/data.mdb"});
  REQUIRE(to);
  CHECK(load(*to, ReadMode::kBuffered) == expected);
}

}  // namespace

TEST_CASE(
    "values and labels are read, buffered and direct, with and without an "
    "index") {
  const bool has_index = GENERATE(false, true);
  const ReadMode mode = GENERATE(ReadMode::kBuffered, ReadMode::kDirect);
  const auto source = GENERATE(SampleSource::kUsual, SampleSource::kMemory,
                               SampleSource::kStorage);
  const Values it(40);
  if (has_index) it.write_index();
  const auto dataset = it.open();
  REQUIRE(dataset->size() == 40);
  CHECK(dataset->path() == it.file);
  CHECK(dataset->name(7) == it.file + ": record 7");
  CHECK(dataset->tensor_bytes() == 0);
  const auto reader = dataset->new_reader(mode);
  for (uint64_t i = 0; i < 40; ++i) {
    const uint64_t index = i * 17 % 40;
    auto value = read_sample(*reader, index, source);
    if (!value && value.error().code == Code::kUnavailable &&
        mode == ReadMode::kDirect) {
      WARN(value.error().message);  // the file system of /tmp refuses O_DIRECT
      return;
    }
    REQUIRE(value);
    CHECK(*value == it.values[index]);
    CHECK(dataset->label(index) == it.labels[index]);
    CHECK(reader->label() == kNoLabel);
  }
}

TEST_CASE("a folder's pictures give the same batches from a database") {
  const TempFolder folder;
  const std::string source = folder.path("in");
  ::mkdir(source.c_str(), 0700);
  for (const char* name : {"/cat", "/dog", "/owl"}) {
    ::mkdir((source + name).c_str(), 0700);
    for (int i = 0; i < 5; ++i) {
      write_file(source + name + "/" + std::to_string(i) + ".jpg",
                 jpeg_bytes(60 + 40 * i, 40 + 30 * i, name[1] + i));
    }
  }
  write_file(source + "/none.ppm", ppm_bytes(30, 30, 1));
  check_same_batches({source}, folder.path("out"));
}

TEST_CASE("tar shards give the same batches from a database") {
  const TempFolder folder;
  std::vector<std::string> shards;
  for (int shard = 0; shard < 2; ++shard) {
    std::vector<std::pair<std::string, std::string>> members;
    for (int i = 0; i < 6; ++i) {
      const auto picture = jpeg_bytes(50 + 9 * i, 70, 10 * shard + i);
      const std::string key = std::to_string(i);
      members.emplace_back(key + ".jpg",
                           std::string(picture.begin(), picture.end()));
      if (i > 0) members.emplace_back(key + ".cls", std::to_string(i * 77));
    }
    shards.push_back(folder.path(std::to_string(shard) + ".tar"));
    write_file(shards.back(), tar_of(members));
  }
  check_same_batches(shards, folder.path("out"));
}

TEST_CASE("the error for an undecodable value names database and record") {
  const Values it(3);
  PipelineOptions options;
  options.total_samples = 3;
  options.shuffle = false;
  options.broken = BrokenSamples::kFatal;
  auto pipeline = Pipeline::create(it.open(), options, {});
  REQUIRE(pipeline);
  auto batch = (*pipeline)->next(10 * kSecond);
  REQUIRE_FALSE(batch);
  CHECK_THAT(batch.error().message,
             ContainsSubstring(it.file + ": record 0: ") &&
                 ContainsSubstring("not a picture: it does not begin like"));
}

TEST_CASE("a write to the database is an error for its readers") {
  const Values it(40);
  const auto dataset = it.open();
  const auto reader = dataset->new_reader(ReadMode::kBuffered);
  const auto other = dataset->new_reader(ReadMode::kBuffered);
  REQUIRE(read_sample(*reader, 1));
  REQUIRE(other->open(2, SampleSource::kUsual));
  it.commit("k");
  const auto read = other->read();
  REQUIRE_FALSE(read);
  CHECK(read.error().code == Code::kUnavailable);
  CHECK_THAT(read.error().message,
             ContainsSubstring(it.file +
                               ": record 2: the database was written to since "
                               "it was opened"));
  CHECK_THAT(read_error(*reader, 1).message, ContainsSubstring("must not"));
  // A new reader reads the present state.
  CHECK(it.open()->size() == 41);
}

TEST_CASE(
    "transactions are detected even if the modification time is unchanged") {
  const Values it(40);
  struct stat before {};
  REQUIRE(::stat(it.file.c_str(), &before) == 0);
  // Spare room keeps the file's size unchanged.
  REQUIRE(::truncate(it.file.c_str(), before.st_size + 1048576) == 0);
  REQUIRE(::stat(it.file.c_str(), &before) == 0);
  const auto dataset = it.open();
  const auto reader = dataset->new_reader(ReadMode::kBuffered);
  const timespec times[] = {before.st_atim, before.st_mtim};
  for (const char* key : {"k", "l"}) {
    it.commit(key);
    REQUIRE(::utimensat(AT_FDCWD, it.file.c_str(), times, 0) == 0);
  }
  const Error error = read_error(*reader, 1);
  CHECK(error.code == Code::kUnavailable);
  CHECK_THAT(error.message, ContainsSubstring("was written to"));
}

TEST_CASE("a replaced database is never read at the old offsets") {
  const Values it(40);
  const auto dataset = it.open();
  const auto reader = dataset->new_reader(ReadMode::kBuffered);
  REQUIRE(read_sample(*reader, 3));
  const auto bytes = file_bytes(it.file);
  write_file(it.file + ".new", bytes);
  REQUIRE(::rename((it.file + ".new").c_str(), it.file.c_str()) == 0);
  // A reader with the old file open still reads it.
  CHECK(*read_sample(*reader, 4) == it.values[4]);
  const Error error = read_error(*dataset->new_reader(ReadMode::kBuffered), 3);
  CHECK(error.code == Code::kInvalidArgument);
  CHECK_THAT(error.message,
             ContainsSubstring("record 3: ") &&
                 ContainsSubstring("another file has this name"));
}

TEST_CASE("an overwrite with equal content is detected") {
  const Values it(40);
  const auto bytes = file_bytes(it.file);
  const auto dataset = it.open();
  const auto reader = dataset->new_reader(ReadMode::kBuffered);
  ::usleep(20000);  // the modification time has the resolution of a clock tick
  write_file(it.file, bytes);
  CHECK(read_error(*reader, 3).code == Code::kUnavailable);
}

TEST_CASE("a truncated database is refused") {
  const Values it(40);
  const auto dataset = it.open();
  const auto reader = dataset->new_reader(ReadMode::kBuffered);
  REQUIRE(::truncate(it.file.c_str(), 8192) == 0);
  CHECK_THAT(
      read_error(*reader, 39).message,
      ContainsSubstring(it.file + ": record 39: the database was written to"));
  CHECK_FALSE(open_lmdb(it.file));
}

TEST_CASE("unusable data is refused with its cause") {
  const TempFolder folder;
  auto missing = open_lmdb(folder.path("none"));
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Code::kNotFound);
  write_file(folder.path("other"), std::vector<uint8_t>(8192, 1));
  auto other = open_lmdb(folder.path("other"));
  REQUIRE_FALSE(other);
  CHECK_THAT(other.error().message, ContainsSubstring("no LMDB database"));
  write_lmdb(folder.path("empty"), {});
  auto empty = open_lmdb(folder.path("empty"));
  REQUIRE_FALSE(empty);
  CHECK(empty.error().code == Code::kNotFound);
  CHECK(empty.error().message == folder.path("empty") + ": no record in it");
  write_lmdb(folder.path("value"), {0, 3});
  auto value = open_lmdb(folder.path("value"));
  REQUIRE(value);
  const auto reader = (*value)->new_reader(ReadMode::kBuffered);
  CHECK_THAT(read_error(*reader, 0).message, ContainsSubstring("record 0: "));
}

TEST_CASE("LMDB databases are recognised among other data") {
  const Values it(3);
  for (const std::string& path : {it.folder.path(), it.file}) {
    auto dataset = open_dataset({path});
    REQUIRE(dataset);
    CHECK((*dataset)->name(0) == it.file + ": record 0");
  }
  // A database of another machine is recognised and refused.
  std::vector<uint8_t> foreign(8192);
  foreign[12] = 0xDE, foreign[13] = 0xC0, foreign[14] = 0xEF,
  foreign[15] = 0xBE;
  write_file(it.folder.path("foreign"), foreign);
  auto dataset = open_dataset({it.folder.path("foreign")});
  REQUIRE_FALSE(dataset);
  CHECK_THAT(dataset.error().message, ContainsSubstring("32-bit machine"));
}
