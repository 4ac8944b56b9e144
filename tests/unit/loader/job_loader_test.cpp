// Features that loader/api/job_loader.h adds to a pipeline.
#include "loader/api/job_loader.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "common/clock.h"
#include "loader/pipeline/thread_choice.h"
#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"
#include "tests/unit/loader_cache/cache_case.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr uint64_t kSecond = 1000000000;

// Ten records of one byte.
class Opened {
 public:
  explicit Opened(size_t ring_batches = 4, size_t threads = 1) {
    write_file(folder_.path("numbers"), std::vector<uint8_t>(10, 7));
    auto dataset = open_records(folder_.path("numbers"), {1, 0, 0});
    REQUIRE(dataset);
    JobLoaderOptions options;
    options.pipeline.batch_samples = 2;
    options.pipeline.ring_batches = ring_batches;
    options.threads = threads;
    auto opened = JobLoader::open(*std::move(dataset), options);
    REQUIRE(opened);
    loader_ = *std::move(opened);
  }
  JobLoader& operator*() const { return *loader_; }
  JobLoader* operator->() const { return loader_.get(); }
  Batch take() const {
    const auto batch = loader_->next(10 * kSecond);
    REQUIRE(batch);
    REQUIRE(*batch);
    return **batch;
  }

 private:
  const TempFolder folder_;
  std::unique_ptr<JobLoader> loader_;
};

}  // namespace

TEST_CASE("a full ring waits for the release of its oldest batch") {
  const Opened loader(2);
  const Batch first = loader.take();
  CHECK_FALSE(loader->is_held_up());
  const Batch second = loader.take();
  CHECK(loader->is_held_up());
  const auto none = loader->next(kSecond / 100);
  REQUIRE(none);
  CHECK_FALSE(*none);
  REQUIRE(loader->release(second));
  CHECK(loader->is_held_up());
  REQUIRE(loader->release(first));
  CHECK_FALSE(loader->is_held_up());
  CHECK(loader.take().number == 2);
}

TEST_CASE("a second release of a batch is refused") {
  const Opened loader;
  const Batch batch = loader.take();
  REQUIRE(loader->release(batch));
  const Status again = loader->release(batch);
  REQUIRE_FALSE(again);
  CHECK(again.error().code == Code::kInvalidArgument);
  CHECK_THAT(again.error().message, ContainsSubstring("not in use"));
}

TEST_CASE("the release of another loader's batch is refused") {
  const Opened loader;
  const Opened other;
  const Batch batch = loader.take();
  (void)other.take();
  const Status released = other->release(batch);
  REQUIRE_FALSE(released);
  CHECK(released.error().code == Code::kInvalidArgument);
  CHECK_THAT(released.error().message, ContainsSubstring("another loader"));
  CHECK(loader->release(batch));
}

TEST_CASE("a thread can release a batch while another waits for one") {
  const Opened loader(2);
  const Batch first = loader.take();
  (void)loader.take();
  bool is_released = false;  // Catch's macros are not thread-safe
  uint64_t took_ns = 0;
  std::thread other([&] {
    usleep(200000);
    const uint64_t begin_ns = monotonic_ns();
    is_released = bool(loader->release(first));
    took_ns = monotonic_ns() - begin_ns;
  });
  const Batch third = loader.take();
  other.join();
  CHECK(third.number == 2);
  CHECK(is_released);
  CHECK(took_ns < kSecond / 20);
}

TEST_CASE("a stopped loader keeps the batches in use") {
  const Opened loader;
  const auto batch = loader->next(10 * kSecond);
  REQUIRE(batch);
  loader->stop();
  loader->stop();
  CHECK(loader->counters().threads == 0);
  CHECK((*batch)->data[0] == 7);
  const auto none = loader->next(kSecond);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Code::kUnavailable);
  CHECK(loader->release(**batch));
  CHECK(loader->state().position == 2);
}

TEST_CASE("in a forked process calls are errors and free no memory") {
  auto loader = std::make_unique<Opened>();
  const Batch held = loader->take();
  const pid_t child = fork();
  if (child == 0) {
    const auto batch = (*loader)->next(kSecond);
    const bool is_told = !batch && batch.error().code == Code::kUnavailable &&
                         !(*loader)->release(held);
    (*loader)->end_step();
    (*loader)->stop();
    (void)loader.release();
    _exit(is_told ? 0 : 1);
  }
  int status = 1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(loader->take().number == 1);
}

TEST_CASE(
    "the number of threads is the requested one, or follows Slurm's CPUs") {
  PipelineOptions options;
  choose_threads({3}, options);
  CHECK_FALSE(options.elastic);
  CHECK(options.threads == 3);
  CHECK(options.threads_min == 3);
  CHECK(options.threads_max == 3);
  setenv("SLURM_CPUS_PER_TASK", "1", 1);
  choose_threads({0, 1, 8}, options);
  unsetenv("SLURM_CPUS_PER_TASK");
  CHECK(options.elastic);
  CHECK(options.threads == 1);
  CHECK(options.threads_max == 8);
  choose_threads({0, 5, 8}, options);
  CHECK(options.threads >= 5);
}

TEST_CASE(
    "each job of a share gets all batches, and a stopped one keeps its batch") {
  const CacheCase cache;
  const TempFolder folder;
  write_file(folder.path("numbers"), std::vector<uint8_t>(10, 7));
  std::vector<std::unique_ptr<JobLoader>> jobs;
  for (int i = 0; i < 2; ++i) {
    JobLoaderOptions options;
    options.pipeline.batch_samples = 2;
    options.threads = 1;
    auto dataset = open_records(folder.path("numbers"), {1, 0, 0});
    REQUIRE(dataset);
    auto joined = JobLoader::join(
        *dataset, {.name = "job", .jobs = 2, .window_batches = 2}, options);
    REQUIRE(joined);
    jobs.push_back(*std::move(joined));
    CHECK(jobs.back()->is_shared());
    CHECK(jobs.back()->samples_per_epoch() == 10);
  }
  const auto take = [&](size_t job) {
    const auto batch = jobs[job]->next(10 * kSecond);
    REQUIRE(batch);
    REQUIRE(*batch);
    return **batch;
  };
  for (uint64_t number = 0; number < 7; ++number) {
    const Batch one = take(0), two = take(1);
    CHECK(one.number == number);
    CHECK(std::equal(one.indices, one.indices + 2, two.indices));
    CHECK(one.ends_epoch == (number == 4));
    // One batch is in use at a time, and only that can be released.
    CHECK(jobs[0]->is_held_up());
    CHECK(jobs[0]->release(one));
    CHECK_FALSE(jobs[0]->release(one));
    CHECK(jobs[1]->release(two));
  }
  const Batch held = take(1);
  const uint64_t index = held.indices[0];
  jobs[1]->stop();
  CHECK(jobs[1]->next(0).error().code == Code::kUnavailable);
  for (int i = 0; i < 10; ++i) CHECK(jobs[0]->release(take(0)));
  CHECK(held.indices[0] == index);
  CHECK(jobs[1]->release(held));
}
