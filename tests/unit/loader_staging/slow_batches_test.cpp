// Batches that take longer to prepare than a claim may show no progress.
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/unit/loader/pictures.h"
#include "tests/unit/loader_cache/cache_case.h"
#include "tests/unit/loader_staging/sharing.h"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kSamples = 80;
constexpr uint64_t kBatchSamples = 40;

// Another data set's samples with slow storage.
class SlowData : public Dataset {
 public:
  explicit SlowData(std::shared_ptr<const Dataset> data)
      : data_(std::move(data)) {}

  uint64_t size() const override { return data_->size(); }
  DatasetFacts facts() const override { return data_->facts(); }
  int64_t label(uint64_t index) const override { return data_->label(index); }
  std::string name(uint64_t index) const override { return data_->name(index); }
  const std::string& path() const override { return data_->path(); }
  uint64_t fingerprint() const override { return data_->fingerprint(); }
  uint64_t tensor_bytes() const override { return data_->tensor_bytes(); }
  std::unique_ptr<SampleReader> new_reader(ReadMode mode) const override {
    return std::make_unique<Reader>(data_->new_reader(mode));
  }

 private:
  class Reader : public SampleReader {
   public:
    explicit Reader(std::unique_ptr<SampleReader> reader)
        : reader_(std::move(reader)) {}
    Result<uint64_t> open(uint64_t index, SampleSource source) override {
      return reader_->open(index, source);
    }
    Result<std::span<const uint8_t>> read() override {
      ::usleep(30'000);
      return reader_->read();
    }
    int64_t label() const override { return reader_->label(); }

   private:
    std::unique_ptr<SampleReader> reader_;
  };

  const std::shared_ptr<const Dataset> data_;
};

// Batches of 1.2 s, of which two may be prepared at a time, for four threads.
SharedOptions small_options() {
  SharedOptions options;
  options.name = "slow";
  options.batch_samples = kBatchSamples;
  options.epochs = 2;
  options.jobs = 2;
  options.window_batches = 2;
  options.threads = options.threads_max = 2;
  return options;
}

// Runs both jobs to their end.
using Jobs = std::vector<std::unique_ptr<SharedPreparer>>;
Jobs run_two(const std::shared_ptr<const Dataset>& dataset,
             const SharedOptions& options) {
  Jobs jobs;
  for (int i = 0; i < 2; ++i) {
    auto job = SharedPreparer::create(dataset, options);
    REQUIRE(job);
    jobs.push_back(*std::move(job));
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  std::vector<uint64_t> samples(2);
  while (!jobs[0]->finished() || !jobs[1]->finished()) {
    for (size_t i = 0; i < 2; ++i) {
      auto batch = jobs[i]->next(50 * kMs);
      REQUIRE(batch);
      if (!*batch) continue;
      CHECK(is_right(**batch));
      samples[i] += (*batch)->size;
      jobs[i]->release({});
    }
    REQUIRE(std::chrono::steady_clock::now() < end);
  }
  CHECK(samples == std::vector<uint64_t>(2, 2 * kSamples));
  return jobs;
}

}  // namespace

TEST_CASE("a job that makes progress with a batch keeps it for any time") {
  const CacheCase cache;
  const TempFolder folder;
  const auto dataset = std::make_shared<SlowData>(
      write_records(folder.path("records"), kSamples));
  SharedOptions options = small_options();
  options.times.claim_ns = 500 * kMs;
  uint64_t prepared = 0;
  for (const auto& job : run_two(dataset, options)) {
    prepared += job->counters().prepared;
    CHECK(job->share().lost_claims == 0);
    CHECK(job->share().times_out == 0);
  }
  CHECK(prepared == 2 * kSamples);
}

TEST_CASE("a job that is too slow for the others does not delay them") {
  const CacheCase cache;
  const TempFolder folder;
  const auto dataset = std::make_shared<SlowData>(
      write_records(folder.path("records"), kSamples));
  SharedOptions options = small_options();
  options.times.claim_ns = 100 * kMs;
  options.times.alone_ns = 200 * kMs;
  for (const auto& job : run_two(dataset, options)) {
    CHECK(job->share().times_out > 0);
    CHECK(job->share().alone_batches > 0);
  }
}
