// Batches that take longer to prepare than a claim may stand still.
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
constexpr uint64_t kSamples = 40;
constexpr uint64_t kBatchSamples = 20;

// Another data set's samples, each of which storage takes a while for.
class SlowData : public Dataset {
 public:
  explicit SlowData(std::shared_ptr<const Dataset> data)
      : data_(std::move(data)) {}

  uint64_t size() const override { return data_->size(); }
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

// Batches of 0.6 s, of which two may be prepared at a time, for four threads.
SharedOptions options_of(uint64_t claim_ns) {
  SharedOptions options;
  options.name = "slow";
  options.batch_samples = kBatchSamples;
  options.epochs = 2;
  options.jobs = 2;
  options.window_batches = 2;
  options.threads = options.threads_max = 2;
  options.times.claim_ns = claim_ns;
  return options;
}

}  // namespace

TEST_CASE("who gets on with a batch keeps it, however long it takes") {
  const CacheCase cache;
  const TempFolder folder;
  const auto dataset = std::make_shared<SlowData>(
      write_records(folder.path("records"), kSamples));
  std::vector<std::unique_ptr<SharedPreparer>> jobs;
  for (int i = 0; i < 2; ++i) {
    auto job = SharedPreparer::create(dataset, options_of(200 * kMs));
    REQUIRE(job);
    jobs.push_back(*std::move(job));
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(15);
  while (!jobs[0]->finished() || !jobs[1]->finished()) {
    for (const auto& job : jobs) {
      auto batch = job->next(50 * kMs);
      REQUIRE(batch);
      if (!*batch) continue;
      CHECK(is_right(**batch));
      job->release({});
    }
    REQUIRE(std::chrono::steady_clock::now() < end);
  }
  uint64_t prepared = 0;
  for (const auto& job : jobs) {
    prepared += job->counters().prepared;
    CHECK(job->share().lost_claims == 0);
    CHECK(job->share().times_out == 0);
  }
  CHECK(prepared == 2 * kSamples);
}
