// A cache is filled before a job runs.
#include "loader/cache/cache_fill.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <set>

#include "tests/unit/loader_cache/cache_case.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr uint64_t kMany = 100'000'000;
constexpr size_t kSampleBytes = 1000;

bool go_on(uint64_t /*done*/, uint64_t /*all*/) { return true; }

class CountedData : public Dataset {
 public:
  explicit CountedData(uint64_t size, std::set<uint64_t> broken = {},
                       unsigned pause_us = 0)
      : size_(size), broken_(std::move(broken)), pause_us_(pause_us) {}

  uint64_t size() const override { return size_; }
  DatasetFacts facts() const override { return {}; }
  int64_t label(uint64_t) const override { return kNoLabel; }
  std::string name(uint64_t index) const override {
    return "sample " + std::to_string(index);
  }
  const std::string& path() const override { return path_; }
  uint64_t fingerprint() const override { return 7; }
  std::unique_ptr<SampleReader> new_reader(ReadMode mode) const override;

  bool is_broken(uint64_t index) const { return broken_.contains(index); }
  void count_read() const {
    ++reads_;
    if (pause_us_ > 0) ::usleep(pause_us_);
  }
  uint64_t reads() const { return reads_; }
  // Readable samples are slow: they wait until so many reads have begun.
  void set_slow_reads(uint64_t reads) { slow_reads_ = reads; }
  uint64_t slow_reads() const { return slow_reads_; }

 private:
  const std::string path_ = "/data";
  const uint64_t size_;
  const std::set<uint64_t> broken_;
  const unsigned pause_us_;
  uint64_t slow_reads_ = 0;
  mutable std::atomic<uint64_t> reads_{0};
};

class CountedReader : public SampleReader {
 public:
  explicit CountedReader(const CountedData& data) : data_(data) {}

  Result<uint64_t> open(uint64_t index, SampleSource) override {
    data_.count_read();
    if (data_.is_broken(index)) {
      return Error{Code::kIo, EIO, data_.name(index) + ": broken"};
    }
    while (data_.reads() < data_.slow_reads()) ::usleep(1000);
    return sample_.size();
  }
  Result<std::span<const uint8_t>> read() override {
    return std::span<const uint8_t>(sample_);
  }

 private:
  const CountedData& data_;
  const std::vector<uint8_t> sample_ = std::vector<uint8_t>(kSampleBytes, 1);
};

std::unique_ptr<SampleReader> CountedData::new_reader(ReadMode) const {
  return std::make_unique<CountedReader>(*this);
}

struct FillCase : CacheCase {
  Result<CacheFilled> fill(const std::shared_ptr<const CountedData>& data,
                           uint64_t most_bytes = kMany) {
    return fill_cache(
        data, open(data->size(), {.most_bytes = most_bytes, .keep_s = 100}),
        go_on);
  }
};

std::set<uint64_t> numbers(uint64_t first, uint64_t end) {
  std::set<uint64_t> all;
  for (uint64_t i = first; i < end; ++i) all.insert(i);
  return all;
}

}  // namespace

TEST_CASE("a second fill reads no sample again") {
  FillCase test;
  const auto data = std::make_shared<CountedData>(500);
  auto filled = test.fill(data);
  REQUIRE(filled);
  CHECK(filled->cached_samples == 500);
  CHECK(filled->read_bytes == 500 * kSampleBytes);
  CHECK(filled->cached_bytes >= 500 * kSampleBytes);
  CHECK_FALSE(filled->is_full);
  CHECK(filled->unreadable_samples == 0);
  CHECK(data->reads() == 500);
  filled = test.fill(data);
  REQUIRE(filled);
  CHECK(filled->cached_samples == 500);
  CHECK(filled->read_bytes == 0);
  CHECK(data->reads() == 500);
}

TEST_CASE("a full cache ends the fill after 100 samples without room") {
  FillCase test;
  const auto data = std::make_shared<CountedData>(2000);
  const auto filled = test.fill(data, 100 << 10);
  REQUIRE(filled);
  CHECK(filled->is_full);
  CHECK(filled->cached_samples >= 90);
  CHECK(filled->cached_samples <= 100);
  CHECK(data->reads() >= filled->cached_samples + 100);
  // Each of the four readers may store its last sample, and clear the count of
  // those in a row only when the others have counted up to 99.
  CHECK(data->reads() <= filled->cached_samples + 5 * 100 + 4);
}

TEST_CASE("a cache is full even if fewer than 100 samples have no room") {
  FillCase test;
  const auto data = std::make_shared<CountedData>(20);
  const auto filled = test.fill(data, 16 << 10);
  REQUIRE(filled);
  CHECK(filled->is_full);
  CHECK(filled->cached_samples < 20);
  CHECK(data->reads() == 20);
}

TEST_CASE("unreadable samples are counted, and the first is named") {
  FillCase test;
  const auto data =
      std::make_shared<CountedData>(500, std::set<uint64_t>{3, 200, 499});
  const auto filled = test.fill(data);
  REQUIRE(filled);
  CHECK(filled->cached_samples == 497);
  CHECK(filled->unreadable_samples == 3);
  REQUIRE(filled->first_unreadable);
  CHECK(filled->first_unreadable->message == "sample 3: broken");
  CHECK_FALSE(filled->is_full);
}

TEST_CASE("100 consecutive unreadable samples are an error") {
  FillCase test;
  const auto data = std::make_shared<CountedData>(1000, numbers(0, 1000));
  const auto filled = test.fill(data);
  REQUIRE_FALSE(filled);
  CHECK(filled.error().code == Code::kIo);
  CHECK_THAT(filled.error().message, ContainsSubstring(": broken"));
  CHECK(data->reads() <= 110);
}

TEST_CASE(
    "100 consecutive unreadable samples after readable ones are an error") {
  FillCase test;
  CHECK_FALSE(
      test.fill(std::make_shared<CountedData>(1000, numbers(100, 1000))));
}

TEST_CASE("a slow readable sample does not hide 100 unreadable ones") {
  FillCase test;
  const auto data = std::make_shared<CountedData>(1000, numbers(1, 1000));
  data->set_slow_reads(101);
  const auto filled = test.fill(data);
  REQUIRE_FALSE(filled);
  CHECK(filled.error().code == Code::kIo);
}

TEST_CASE("fewer than 100 samples, all of them unreadable, are an error") {
  FillCase test;
  CHECK_FALSE(test.fill(std::make_shared<CountedData>(5, numbers(0, 5))));
}

TEST_CASE("the callback can stop the fill, and cached samples stay") {
  FillCase test;
  const auto data =
      std::make_shared<CountedData>(100'000, std::set<uint64_t>(), 1000);
  const auto cache = test.open(data->size(), {.most_bytes = kMany});
  uint64_t asked = 0;
  const auto filled = fill_cache(data, cache, [&](uint64_t done, uint64_t all) {
    CHECK(done <= all);
    CHECK(all == 100'000);
    return ++asked < 2;
  });
  REQUIRE(filled);
  CHECK(asked >= 2);
  CHECK(filled->cached_samples > 0);
  CHECK(filled->cached_samples < 100'000);
  CHECK(filled->cached_samples == cache->ready_samples());
  CHECK_FALSE(filled->is_full);
}
