// with_cache(): samples of any data set, from the cache if present.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "common/unique_fd.h"
#include "loader/cache/cache_layout.h"
#include "penstock/loader/pipeline.h"
#include "tests/unit/loader/pictures.h"
#include "tests/unit/loader_cache/cache_case.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr uint64_t kMany = 100'000'000;
constexpr uint64_t kSecond_ns = 1'000'000'000;

// Pictures in a folder, and a cache of them.
struct Cached {
  CacheCase cache_case;
  TempFolder folder;
  std::shared_ptr<const Dataset> stored;
  std::shared_ptr<SampleCache> cache;
  std::shared_ptr<const Dataset> dataset;

  explicit Cached(int pictures = 10) {
    write_jpegs(folder, pictures);
    set_dataset(open_folder(folder.path()));
  }
  void set_dataset(Result<std::shared_ptr<const Dataset>> opened) {
    REQUIRE(opened);
    stored = *opened;
    auto joined = SampleCache::open(*stored, {.most_bytes = kMany});
    REQUIRE(joined);
    cache = *joined;
    dataset = with_cache(stored, cache);
  }
  std::unique_ptr<SampleReader> reader() const {
    return dataset->new_reader(ReadMode::kBuffered);
  }
};

// Reads a sample and checks whether it was in the cache.
std::vector<uint8_t> read(SampleReader& reader, uint64_t index,
                          SampleSource source, bool is_cached) {
  auto bytes = reader.open(index, source);
  if (!bytes) FAIL(bytes.error().message);
  CHECK(reader.is_cached() == is_cached);
  auto sample = reader.read();
  if (!sample) FAIL(sample.error().message);
  CHECK(sample->size() == *bytes);
  CHECK(reader.is_cached() == is_cached);
  return {sample->begin(), sample->end()};
}

std::vector<uint8_t> stored_bytes(const Cached& test, uint64_t index) {
  const auto reader = test.stored->new_reader(ReadMode::kBuffered);
  return read(*reader, index, SampleSource::kUsual, false);
}

PipelineOptions options_of(uint64_t samples) {
  PipelineOptions options;
  options.batch_samples = 4;
  options.crop_side = 16;
  options.total_samples = samples;
  options.threads = options.threads_max = 2;
  return options;
}

struct Loaded {
  std::vector<float> pixels;
  std::vector<int64_t> labels;
  LoaderCounters counters;
  bool is_whole = false;
};

// All batches of a pipeline within some seconds.
Loaded load(const std::shared_ptr<const Dataset>& dataset, uint64_t samples,
            double seconds, PipelineLink link = {}) {
  auto pipeline =
      Pipeline::create(dataset, options_of(samples), std::move(link));
  REQUIRE(pipeline);
  Loaded loaded;
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!(*pipeline)->finished() && std::chrono::steady_clock::now() < end) {
    auto batch = (*pipeline)->next(kSecond_ns / 20);
    REQUIRE(batch);
    if (!*batch) continue;
    const float* pixels = (*batch)->data;
    loaded.pixels.insert(loaded.pixels.end(), pixels,
                         pixels + (*batch)->size * 3 * 16 * 16);
    loaded.labels.insert(loaded.labels.end(), (*batch)->labels,
                         (*batch)->labels + (*batch)->size);
    (*pipeline)->release(**batch);
  }
  loaded.is_whole = (*pipeline)->finished();
  loaded.counters = (*pipeline)->counters();
  return loaded;
}

}  // namespace

TEST_CASE("a cached data set has the names and labels of the one below it") {
  const Cached test(3);
  CHECK(test.dataset->size() == 3);
  CHECK(test.dataset->name(1) == test.stored->name(1));
  CHECK(test.dataset->label(1) == test.stored->label(1));
  CHECK(test.dataset->path() == test.folder.path());
  CHECK(test.dataset->fingerprint() == test.stored->fingerprint());
  CHECK(test.dataset->tensor_bytes() == 0);
}

TEST_CASE("the first read fills the cache, later reads come from it") {
  const Cached test;
  const auto reader = test.reader();
  for (uint64_t i = 0; i < 10; ++i) {
    CHECK(read(*reader, i, SampleSource::kUsual, false) ==
          stored_bytes(test, i));
  }
  std::filesystem::remove(
      test.stored->name(3));  // the cached sample needs no file
  for (const uint64_t i : {3U, 9U, 0U, 3U}) {
    const auto sample = read(*reader, i, SampleSource::kUsual, true);
    if (i != 3) CHECK(sample == stored_bytes(test, i));
  }
  CHECK(test.cache->counters().hits == 4);
  CHECK(test.cache->counters().misses == 10);
}

TEST_CASE("a read from memory uses the cache but does not fill it") {
  const Cached test;
  const auto reader = test.reader();
  CHECK(read(*reader, 2, SampleSource::kMemory, false) ==
        stored_bytes(test, 2));
  CHECK_FALSE(test.cache->find(2));
  (void)read(*reader, 2, SampleSource::kUsual, false);
  CHECK(read(*reader, 2, SampleSource::kMemory, true) == stored_bytes(test, 2));
}

TEST_CASE("a read from storage neither uses nor fills the cache") {
  const Cached test;
  const auto reader = test.reader();
  CHECK(read(*reader, 2, SampleSource::kStorage, false) ==
        stored_bytes(test, 2));
  CHECK_FALSE(test.cache->find(2));
  (void)read(*reader, 2, SampleSource::kUsual, false);
  CHECK(read(*reader, 2, SampleSource::kStorage, false) ==
        stored_bytes(test, 2));
  CHECK(test.cache->counters().hits == 0);
}

TEST_CASE("labels inside samples are cached with them") {
  Cached test;
  std::vector<uint8_t> records;
  for (uint8_t i = 0; i < 5; ++i) {
    records.insert(records.end(), {uint8_t(200 + i), i, i, i});
  }
  write_file(test.folder.path("records.bin"), records);
  test.set_dataset(open_records(test.folder.path("records.bin"),
                                {.record_bytes = 4, .label_bytes = 1}));
  CHECK(test.dataset->tensor_bytes() == 3);
  const auto reader = test.reader();
  for (const bool is_cached : {false, true}) {
    for (uint8_t i = 0; i < 5; ++i) {
      const auto bytes = reader->open(i, SampleSource::kUsual);
      REQUIRE(bytes);
      // Records are read with labels and cached without them.
      CHECK(*bytes == (is_cached ? 3 : 4));
      CHECK(reader->is_cached() == is_cached);
      auto sample = reader->read();
      REQUIRE(sample);
      CHECK(std::vector<uint8_t>(sample->begin(), sample->end()) ==
            std::vector<uint8_t>{i, i, i});
      CHECK(reader->label() == 200 + i);
    }
  }
}

TEST_CASE("a label that the data set knows is not in the cached sample") {
  const Cached test;
  const auto reader = test.reader();
  for (const bool is_cached : {false, true}) {
    (void)read(*reader, 0, SampleSource::kUsual, is_cached);
    CHECK(reader->label() == kNoLabel);
  }
}

TEST_CASE("a sample that leaves the cache after open() comes from storage") {
  const Cached test;
  const auto reader = test.reader();
  const auto expected = read(*reader, 4, SampleSource::kUsual, false);
  REQUIRE(reader->open(4, SampleSource::kUsual));
  REQUIRE(reader->is_cached());
  // As when programs need the memory.
  const UniqueFd fd(::open(test.cache->path().c_str(), O_RDWR));
  const uint64_t empty = 0;
  REQUIRE(::pwrite(fd.get(), &empty, sizeof empty,
                   off_t(kSlotsOffset + 4 * sizeof(Slot))) == 8);
  auto sample = reader->read();
  REQUIRE(sample);
  CHECK(std::vector<uint8_t>(sample->begin(), sample->end()) == expected);
  CHECK_FALSE(reader->is_cached());
  CHECK(read(*reader, 4, SampleSource::kUsual, true) == expected);
}

TEST_CASE("a sample that leaves the cache and storage is an error") {
  const Cached test;
  const auto reader = test.reader();
  (void)read(*reader, 4, SampleSource::kUsual, false);
  REQUIRE(reader->open(4, SampleSource::kUsual));
  const UniqueFd fd(::open(test.cache->path().c_str(), O_RDWR));
  const uint64_t empty = 0;
  REQUIRE(::pwrite(fd.get(), &empty, sizeof empty,
                   off_t(kSlotsOffset + 4 * sizeof(Slot))) == 8);
  std::filesystem::remove(test.stored->name(4));
  auto sample = reader->read();
  REQUIRE_FALSE(sample);
  CHECK(sample.error().code == Code::kNotFound);
  CHECK_THAT(sample.error().message, ContainsSubstring(test.stored->name(4)));
}

TEST_CASE("an unreadable sample is an error and is not cached") {
  const Cached test;
  std::filesystem::remove(test.stored->name(1));
  const auto reader = test.reader();
  auto bytes = reader->open(1, SampleSource::kUsual);
  REQUIRE_FALSE(bytes);
  CHECK(bytes.error().code == Code::kNotFound);
  CHECK_FALSE(test.cache->find(1));
}

TEST_CASE("readers of several threads share the cache") {
  const Cached test;
  const auto first = test.reader(), second = test.reader();
  (void)read(*first, 0, SampleSource::kUsual, false);
  (void)read(*second, 0, SampleSource::kUsual, true);
}

TEST_CASE(
    "a pipeline with a cache gives the same batches and reads storage once") {
  const Cached test;
  const Loaded expected = load(test.stored, 30, 60);
  REQUIRE(expected.is_whole);
  const Loaded cached = load(test.dataset, 30, 60);
  CHECK(cached.pixels == expected.pixels);
  CHECK(cached.labels == expected.labels);
  CHECK(cached.counters.prepared == 30);
  // Three epochs, of which two come from the cache.
  CHECK(cached.counters.bytes * 3 == expected.counters.bytes);
  CHECK(test.cache->counters().hits == 20);
  CHECK(load(test.dataset, 30, 60).counters.bytes == 0);
}

TEST_CASE("hits do not count towards the hint's rate") {
  const Cached test;
  REQUIRE(load(test.dataset, 10, 60).is_whole);
  PipelineLink link;
  link.hint = [] { return PipelineHint{2, 1}; };  // a byte per second
  const Loaded stored = load(test.stored, 1000, 1, link);
  CHECK_FALSE(stored.is_whole);
  const Loaded cached = load(test.dataset, 1000, 60, link);
  CHECK(cached.is_whole);
  CHECK(cached.counters.prepared == 1000);
  CHECK(cached.counters.bytes == 0);
}
