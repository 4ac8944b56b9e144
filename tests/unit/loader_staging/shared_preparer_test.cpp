#include "loader/staging/shared_preparer.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>

#include "penstock/loader/pipeline.h"
#include "tests/unit/loader/pictures.h"
#include "tests/unit/loader_cache/cache_case.h"
#include "tests/unit/loader_staging/share_case.h"
#include "tests/unit/loader_staging/sharing.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kMs = 1'000'000;

// The next batch, within ten seconds.
template <class Source>
Batch next_of(Source& source) {
  for (int tries = 0; tries < 10; ++tries) {
    auto batch = source.next(kSecond);
    if (!batch) FAIL(batch.error().message);
    if (*batch) return **batch;
  }
  FAIL("no batch");
  return {};
}

bool wait_until(const std::function<bool()>& is_so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

struct Seen {
  std::vector<float> floats;
  std::vector<int64_t> labels;
  std::vector<uint64_t> indices;
  std::vector<uint64_t> ends;  // numbers of the batches that end an epoch
  uint64_t batches = 0;
  bool is_in_order =
      true;  // not checked in add(): Catch's macros are not thread-safe

  bool operator==(const Seen&) const = default;
  void add(const Batch& batch) {
    floats.insert(floats.end(), batch.data,
                  batch.data + batch.size * batch.sample_floats);
    labels.insert(labels.end(), batch.labels, batch.labels + batch.size);
    indices.insert(indices.end(), batch.indices, batch.indices + batch.size);
    if (batch.ends_epoch) ends.push_back(batch.number);
    is_in_order = is_in_order && batch.number == batches;
    ++batches;
  }
};

Seen all_of(SharedPreparer& shared) {
  Seen seen;
  while (!shared.finished()) {
    const Batch batch = next_of(shared);
    seen.add(batch);
    shared.release(batch);
  }
  return seen;
}

Seen of_pipeline(const std::shared_ptr<const Dataset>& dataset,
                 const SharedOptions& options) {
  PipelineOptions same;
  same.batch_samples = options.batch_samples;
  same.crop_side = options.crop_side;
  same.augment = options.augment;
  same.seed = options.seed;
  same.shuffle = options.shuffle;
  same.total_samples = options.epochs * dataset->size();
  auto pipeline = Pipeline::create(dataset, same, {});
  REQUIRE(pipeline);
  Seen seen;
  while (!(*pipeline)->finished()) {
    const Batch batch = next_of(**pipeline);
    seen.add(batch);
    (*pipeline)->release(batch);
  }
  CHECK(seen.is_in_order);
  return seen;
}

}  // namespace

TEST_CASE("jobs that share get the same bits as each would alone") {
  const CacheCase cache;
  const TempFolder folder;
  write_jpegs(folder, 10);
  const auto dataset = *open_folder(folder.path());
  for (const auto augment : {Augment::kRandom, Augment::kCentre}) {
    for (const bool shuffle : {true, false}) {
      CAPTURE(shuffle);
      SharedOptions options = small_options(3);
      options.augment = augment;
      options.shuffle = shuffle;
      const Seen expected = of_pipeline(dataset, options);
      CHECK(expected.batches == 9);
      const auto one = make(dataset, options);
      const auto two = make(dataset, options);
      Seen seen;
      std::thread other([&] { seen = all_of(*two); });
      CHECK(all_of(*one) == expected);
      other.join();
      CHECK(seen == expected);
      // Prepared once for both, and no unwanted batch.
      const uint64_t prepared =
          one->counters().prepared + two->counters().prepared;
      CHECK(prepared == 30);
      CHECK(one->share().times_out + two->share().times_out == 0);
    }
  }
}

TEST_CASE("a job that joins later starts with an epoch and gets all of it") {
  const CacheCase cache;
  const TempFolder folder;
  const auto dataset = write_records(folder.path("records"), 30);
  SharedOptions first = small_options(6);
  first.jobs = 1;
  const auto one = make(dataset, first);
  (void)next_of(*one);
  one->release({});
  const auto two = make(dataset, small_options(2));
  const uint64_t begin = two->epoch();
  CHECK(begin >= 1);
  Seen seen;
  std::thread other([&] { seen = all_of(*two); });
  while (!one->finished()) {
    (void)next_of(*one);
    one->release({});
  }
  other.join();
  REQUIRE((seen.is_in_order && seen.indices.size() == 60));
  Epochs epochs(2);
  epochs[0].assign(seen.indices.begin(), seen.indices.begin() + 30);
  epochs[1].assign(seen.indices.begin() + 30, seen.indices.end());
  CHECK(are_whole(epochs, 30));
  // The share's own.
  SharedOptions all = small_options(begin + 2);
  const Seen expected = of_pipeline(dataset, all);
  CHECK(std::equal(seen.indices.begin(), seen.indices.end(),
                   expected.indices.end() - 60));
}

TEST_CASE("a job that delays the others continues alone and rejoins") {
  const CacheCase cache;
  const TempFolder folder;
  write_jpegs(folder, 24);
  const auto dataset = *open_folder(folder.path());
  SharedOptions options = small_options(4);
  options.window_batches = 3;
  options.times = {100 * kMs, 300 * kMs, 5000 * kMs};
  const auto one = make(dataset, options);
  const auto two = make(dataset, options);
  // Job two holds a batch until job one has finished two epochs.
  const Batch held = next_of(*two);
  const std::vector<float> before(held.data, held.data + 1000);
  const auto begin = std::chrono::steady_clock::now();
  Seen first;
  for (int i = 0; i < 12; ++i) {
    first.add(next_of(*one));
    one->release({});
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(3));
  CHECK(std::equal(before.begin(), before.end(), held.data));
  Seen seen;
  seen.add(held);
  two->release({});
  for (int i = 1; i < 6; ++i) {
    seen.add(next_of(*two));
    CHECK(two->is_alone());
    two->release({});
  }
  CHECK(two->share().times_out == 1);
  CHECK(two->share().alone_batches == 5);
  CHECK_FALSE(two->is_alone());
  CHECK(two->epoch() >= 2);
  const Seen expected = of_pipeline(dataset, options);
  CHECK((first.is_in_order && seen.is_in_order));
  CHECK(std::equal(seen.floats.begin(), seen.floats.end(),
                   expected.floats.begin()));
  std::thread other([&] {
    while (!one->finished()) {
      (void)next_of(*one);
      one->release({});
    }
  });
  std::vector<uint64_t> indices;
  while (!two->finished()) {
    const Batch batch = next_of(*two);
    indices.insert(indices.end(), batch.indices, batch.indices + batch.size);
    two->release({});
  }
  other.join();
  Epochs epochs(3);
  REQUIRE(indices.size() == 72);
  for (size_t i = 0; i < 72; ++i) epochs[i / 24].push_back(indices[i]);
  CHECK(are_whole(epochs, 24));
  CHECK(two->share().times_out == 1);
}

TEST_CASE("broken samples are skipped for all jobs") {
  const CacheCase cache;
  const TempFolder folder;
  write_jpegs(folder, 9);
  write_file(folder.path("broken.jpg"), {1, 2, 3});
  const auto dataset = *open_folder(folder.path());
  std::mutex mutex;
  std::vector<std::string> named;
  SharedOptions options = small_options(2);
  options.batch_samples = 1;
  PipelineLink link;
  link.broken = [&](const std::string& why) {
    const std::lock_guard lock(mutex);
    named.push_back(why);
  };
  const auto one = make(dataset, options, link);
  const auto two = make(dataset, options, link);
  Seen seen;
  uint64_t samples = 0;
  std::thread other([&] {
    while (!two->finished()) {
      samples += next_of(*two).size;
      two->release({});
    }
  });
  uint64_t own = 0;
  while (!one->finished()) {
    own += next_of(*one).size;
    one->release({});
  }
  other.join();
  CHECK(own == 18);
  CHECK(samples == 18);
  CHECK(one->counters().broken + two->counters().broken == 2);
  // Each job that tries the sample names it once.
  CHECK(named.size() == size_t{one->counters().broken > 0} +
                            size_t{two->counters().broken > 0});
  CHECK_THAT(named[0], ContainsSubstring("broken.jpg"));
}

TEST_CASE(
    "a broken sample ends a job with fatal ones, whichever job prepared it") {
  const CacheCase cache;
  const TempFolder folder;
  write_jpegs(folder, 9);
  write_file(folder.path("broken.jpg"), {1, 2, 3});
  const auto dataset = *open_folder(folder.path());
  SharedOptions options = small_options(2);
  const auto skips = make(dataset, options);
  options.broken = BrokenSamples::kFatal;
  const auto wants_all = make(dataset, options);
  uint64_t samples = 0;
  std::thread other([&] {
    while (!skips->finished()) {
      samples += next_of(*skips).size;
      skips->release({});
    }
  });
  std::optional<Error> error;
  for (int batches = 0; batches < 3 && !error; ++batches) {
    const auto batch = wants_all->next(10 * kSecond);
    if (!batch) error = batch.error();
    if (batch) wants_all->release({});
  }
  other.join();  // it is not delayed
  CHECK(samples == 18);
  REQUIRE(error);
  CHECK(error->code == Code::kIo);
  CHECK_THAT(error->message, ContainsSubstring("broken.jpg"));
  CHECK_FALSE(wants_all->next(0));
}

TEST_CASE("threads and their read rate follow the hint") {
  const CacheCase cache;
  const TempFolder folder;
  const auto dataset = write_records(folder.path("records"), 40);
  SharedOptions options = small_options(0);
  options.jobs = 1;
  options.threads = 1;
  options.threads_max = 3;
  options.elastic = true;
  std::atomic<size_t> threads = 3;
  std::atomic<int> running = 0;
  PipelineLink link;
  link.hint = [&] { return PipelineHint{threads, 0}; };
  link.thread = [&](bool starts) { running += starts ? 1 : -1; };
  const auto shared = make(dataset, options, link);
  CHECK(wait_until([&] { return running == 3; }));
  threads = 2;
  CHECK(wait_until([&] { return running == 2; }));
  CHECK(shared->counters().threads == 2);
  shared->stop();
  CHECK(running == 0);
}

TEST_CASE("a batch in use is unchanged after its job stops") {
  const CacheCase cache;
  const TempFolder folder;
  const auto dataset = write_records(folder.path("records"), 400);
  SharedOptions options = small_options(1);
  options.window_batches = 2;
  const auto one = make(dataset, options);
  const auto two = make(dataset, options);
  const Batch held = next_of(*one);
  const std::vector<float> before(held.data,
                                  held.data + held.size * held.sample_floats);
  one->stop();
  const Seen seen = all_of(*two);
  CHECK((seen.is_in_order && seen.indices.size() == 400));
  CHECK(std::equal(before.begin(), before.end(), held.data));
  one->release(held);
}

TEST_CASE("a data set of only broken samples is an error") {
  const CacheCase cache;
  const TempFolder folder;
  for (int i = 0; i < 5; ++i) {
    write_file(folder.path(std::to_string(i) + ".jpg"), {1, 2, 3});
  }
  const auto dataset = *open_folder(folder.path());
  SharedOptions options = small_options(0);
  options.jobs = 1;
  options.batch_samples = 2;
  const auto shared = make(dataset, options);
  for (int tries = 0; tries < 20; ++tries) {
    auto batch = shared->next(kSecond);
    if (batch) {
      shared->release({});
      continue;
    }
    CHECK(batch.error().code == Code::kIo);
    CHECK_THAT(batch.error().message, ContainsSubstring("are broken"));
    CHECK_FALSE(shared->next(0));
    return;
  }
  FAIL("no error");
}

TEST_CASE(
    "one batch is in use at a time, and next() waits at most its timeout") {
  const CacheCase cache;
  const TempFolder folder;
  const auto dataset = write_records(folder.path("records"), 40);
  SharedOptions options = small_options(1);
  options.window_batches = 2;
  const auto one = make(dataset, options);
  const auto two = make(dataset, options);
  one->release({});  // nothing
  (void)next_of(*one);
  CHECK(one->is_held_up());
  const auto again = one->next(0);
  REQUIRE(again);
  CHECK_FALSE(*again);
  // The window ends two batches after the other job's.
  one->release({});
  (void)next_of(*one);
  one->release({});
  const auto begin = std::chrono::steady_clock::now();
  const auto none = one->next(200 * kMs);
  const auto waited = std::chrono::steady_clock::now() - begin;
  REQUIRE(none);
  CHECK_FALSE(*none);
  CHECK(waited >= std::chrono::milliseconds(200));
  CHECK(waited < std::chrono::seconds(2));
  (void)next_of(*two);
  two->release({});
  (void)next_of(*one);
}

TEST_CASE("a job that leaves or ends delays no other job") {
  const CacheCase cache;
  const TempFolder folder;
  const auto dataset = write_records(folder.path("records"), 40);
  const auto one = make(dataset, small_options(3));
  auto two = make(dataset, small_options(3));
  (void)next_of(*two);
  two.reset();  // in the middle of a batch
  const Seen seen = all_of(*one);
  CHECK((seen.is_in_order && seen.indices.size() == 120));
  CHECK(std::filesystem::is_empty(cache.base()));
}

TEST_CASE("the first batch waits for other jobs at most gather_ns") {
  const CacheCase cache;
  const TempFolder folder;
  const auto dataset = write_records(folder.path("records"), 5);
  SharedOptions options = small_options(1);
  options.times.gather_ns = 500 * kMs;
  const auto begin = std::chrono::steady_clock::now();
  const auto shared = make(dataset, options);
  (void)next_of(*shared);
  const auto waited = std::chrono::steady_clock::now() - begin;
  CHECK(waited >= std::chrono::milliseconds(500));
  CHECK(waited < std::chrono::seconds(3));
}
