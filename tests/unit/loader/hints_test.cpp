// Delay and precision with which a pipeline follows the hint page.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "common/clock.h"
#include "loader/api/penstock_link.h"
#include "loader/train/trainer.h"
#include "penstock/loader/pipeline.h"
#include "tests/unit/catch.h"
#include "tests/unit/libpenstock/fake_daemon.h"
#include "tests/unit/loader/pictures.h"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr uint64_t kSecond_ns = 1000000000;
constexpr int kLatest_ms = 100;  // from the hint to its effect
constexpr uint64_t kSampleBytes = 9000;

// A penstockd's hint page and this program's handle on it.
class HintPage {
 public:
  HintPage()
      : daemon_(socket_.path(), Reply::kGood),
        handle_(penstock_open(socket_.path().c_str())) {
    // If penstock_open()'s 100 ms did not suffice, reports finish connecting.
    const penstock_progress nothing{};
    REQUIRE(eventually([&] {
      penstock_report(handle_, &nothing);
      return penstock_connected(handle_) == 1;
    }));
    write(2, 0, false);
  }
  ~HintPage() { penstock_close(handle_); }
  HintPage(const HintPage&) = delete;
  HintPage& operator=(const HintPage&) = delete;

  // As penstockd's TaskPages::publish().
  void write(uint32_t threads, uint64_t rate_bytes_per_s, bool kernel_limited) {
    penstock_hint_page* page = daemon_.hint();
    std::atomic_ref<uint32_t> sequence(page->sequence);
    sequence.fetch_add(1);
    std::atomic_ref(page->loader_threads).store(threads);
    std::atomic_ref(page->rate_bytes_per_s).store(rate_bytes_per_s);
    std::atomic_ref(page->kernel_limited).store(kernel_limited ? 1 : 0);
    sequence.fetch_add(1);
  }
  penstock_handle* handle() const { return handle_; }
  FakeDaemon& daemon() { return daemon_; }
  size_t loaders() {
    const auto threads = daemon_.threads();
    return static_cast<size_t>(
        std::count_if(threads.begin(), threads.end(),
                      [](const auto& thread) { return thread.second; }));
  }

 private:
  const SocketFolder socket_;
  FakeDaemon daemon_;
  penstock_handle* const handle_;
};

// Records of 9 kB with negligible preparation.
class Records {
 public:
  Records() {
    write_file(folder_.path("records"),
               std::vector<uint8_t>(100 * kSampleBytes, 7));
    auto opened = open_records(folder_.path("records"), {kSampleBytes, 0, 0});
    REQUIRE(opened);
    dataset_ = *opened;
  }
  std::unique_ptr<Pipeline> load(const PipelineLink& link) const {
    PipelineOptions options;
    options.batch_samples = 4;
    options.threads = 2;
    options.threads_max = 8;
    options.elastic = true;
    auto pipeline = Pipeline::create(dataset_, options, link);
    REQUIRE(pipeline);
    return *std::move(pipeline);
  }
  const std::shared_ptr<const Dataset>& dataset() const { return dataset_; }

 private:
  const TempFolder folder_;
  std::shared_ptr<const Dataset> dataset_;
};

// Takes all batches at once, like a trainer faster than its loader.
class Consumer {
 public:
  explicit Consumer(Pipeline& pipeline)
      : thread_([this, &pipeline] {
          while (!stop_) {
            auto batch = pipeline.next(kSecond_ns / 100);
            if (batch && *batch) pipeline.release(**batch);
          }
        }) {}
  ~Consumer() {
    stop_ = true;
    thread_.join();
  }
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

void sleep_ns(uint64_t ns) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
}

// Time until done() is true, at most five seconds.
template <class Done>
int ms_until(Done done) {
  const uint64_t begin_ns = monotonic_ns();
  while (!done() && monotonic_ns() - begin_ns < 5 * kSecond_ns) {
    sleep_ns(kSecond_ns / 1000);
  }
  REQUIRE(done());
  return static_cast<int>((monotonic_ns() - begin_ns) / 1000000);
}

// A median, because single measurements vary on a shared machine.
template <class Number>
Number median(std::vector<Number> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers[numbers.size() / 2];
}

struct FollowTimes {
  std::vector<int> more_ms;
  std::vector<int> fewer_ms;
};

// Delays until the number of threads followed, up and down.
FollowTimes follow_times(HintPage& page, const Pipeline& pipeline,
                         uint64_t rate_bytes_per_s) {
  FollowTimes times;
  uint32_t before = 2;
  uint64_t pause_ns = kSecond_ns / 50;
  for (const uint32_t threads : {7, 3, 8, 1, 6, 2, 5, 1, 8, 4, 1}) {
    // So that changes fall anywhere in the loader's period.
    sleep_ns(pause_ns);
    pause_ns += kSecond_ns / 200;
    page.write(threads, rate_bytes_per_s, false);
    (threads > before ? times.more_ms : times.fewer_ms).push_back(ms_until([&] {
      return pipeline.counters().threads == threads;
    }));
    before = threads;
    // The threads report themselves to penstockd.
    ms_until([&] { return page.loaders() == threads; });
  }
  return times;
}

struct Rate {
  double bytes_per_s = 0;
  uint64_t longest_pause_ns = 0;  // in which this process got no CPU
};

Rate rate_of_a_second(const Pipeline& pipeline) {
  const uint64_t begin_ns = monotonic_ns();
  const uint64_t begin_bytes = pipeline.counters().bytes;
  Rate rate;
  uint64_t now_ns = begin_ns, bytes = 0;
  while (now_ns - begin_ns < kSecond_ns) {
    sleep_ns(kSecond_ns / 100);
    bytes = pipeline.counters().bytes - begin_bytes;
    const uint64_t woken_ns = monotonic_ns();
    rate.longest_pause_ns = std::max(rate.longest_pause_ns, woken_ns - now_ns);
    now_ns = woken_ns;
  }
  rate.bytes_per_s =
      static_cast<double>(bytes) * 1e9 / static_cast<double>(now_ns - begin_ns);
  return rate;
}

// Bytes/s over a second that begins 100 ms after the hint was written, or
// later: a pause longer than the burst of 0.1 s loses bandwidth, so that a
// second with one is not counted.
double rate_after(HintPage& page, const Pipeline& pipeline,
                  uint64_t rate_bytes_per_s, bool kernel_limited) {
  page.write(3, rate_bytes_per_s, kernel_limited);
  sleep_ns(kLatest_ms * kSecond_ns / 1000);
  Rate rate = rate_of_a_second(pipeline);
  for (int more = 9; more > 0 && rate.longest_pause_ns > kSecond_ns / 20;
       --more) {
    rate = rate_of_a_second(pipeline);
  }
  return rate.bytes_per_s;
}

}  // namespace

TEST_CASE("threads follow the hint page within 100 ms") {
  HintPage page;
  const Records records;
  const auto pipeline = records.load(penstock_link(page.handle()));
  SECTION("while they work") {
    const Consumer consumer(*pipeline);
    const FollowTimes times = follow_times(page, *pipeline, 0);
    CHECK(median(times.more_ms) <= kLatest_ms);
    CHECK(median(times.fewer_ms) <= kLatest_ms);
  }
  SECTION("while they wait for room") {
    ms_until([&] { return pipeline->counters().prepared >= 16; });
    const FollowTimes times = follow_times(page, *pipeline, 0);
    CHECK(median(times.more_ms) <= kLatest_ms);
    CHECK(median(times.fewer_ms) <= kLatest_ms);
  }
  SECTION("while they wait for bandwidth") {
    const Consumer consumer(*pipeline);
    const FollowTimes times = follow_times(page, *pipeline, 100 * kSampleBytes);
    CHECK(median(times.more_ms) <= kLatest_ms);
    // Each thread first gets its awaited bandwidth, 10 ms apart.
    CHECK(median(times.fewer_ms) <= kLatest_ms + 100);
  }
}

TEST_CASE("a pipeline with a full ring ends within 50 ms") {
  const Records records;
  std::vector<int> times_ms;
  for (int i = 0; i < 7; ++i) {
    auto pipeline = records.load({});
    ms_until([&] { return pipeline->counters().prepared >= 16; });
    sleep_ns(kSecond_ns / 100);
    times_ms.push_back(ms_until([&] {
      pipeline.reset();
      return true;
    }));
  }
  CHECK(*std::min_element(times_ms.begin(), times_ms.end()) < 50);
}

TEST_CASE("the read rate follows the hint page within 100 ms and stays there") {
  HintPage page;
  const Records records;
  page.write(3, 1000000, false);
  const auto pipeline = records.load(penstock_link(page.handle()));
  const Consumer consumer(*pipeline);
  // Rates go up and down, and start from none while the kernel limits reads.
  double kernels_bytes_per_s = 0;
  std::vector<double> off_by;
  for (const double rate : {2e6, 0.5e6, 4e6, 1e6, 2e6}) {
    const double kept =
        rate_after(page, *pipeline, static_cast<uint64_t>(rate), false);
    CAPTURE(rate, kept);
    off_by.push_back(std::abs(kept / rate - 1));
    CHECK(kept < 1.15 * rate);  // including the burst of 0.1 s
    if (rate == 4e6) {
      kernels_bytes_per_s = rate_after(page, *pipeline, 1000000, true);
    }
  }
  CHECK(median(off_by) < 0.05);
  CHECK(kernels_bytes_per_s > 8e6);
}

TEST_CASE("a user program's report appears on the progress page") {
  HintPage page;
  const Records records;
  page.write(2, 4000000, false);
  const auto pipeline = records.load(penstock_link(page.handle()));
  penstock_progress progress{};
  while (progress.steps < 50) {
    const uint64_t begin_ns = monotonic_ns();
    const auto batch = pipeline->next(kSecond_ns);
    progress.wait_ns += monotonic_ns() - begin_ns;
    REQUIRE(batch);
    if (!*batch) continue;
    progress.samples += (*batch)->size;
    ++progress.steps;
    pipeline->release(**batch);
    const LoaderCounters counters = pipeline->counters();
    progress.bytes = counters.bytes;
    progress.fetch_ns = counters.fetch_ns;
    progress.prep_ns = counters.prep_ns;
    progress.prepared = counters.prepared;
    progress.loader_threads = static_cast<uint32_t>(counters.threads);
    penstock_report(page.handle(), &progress);
  }
  const penstock_progress_page* shown = page.daemon().progress();
  CHECK(shown->samples == 200);
  CHECK(shown->bytes >= 200 * kSampleBytes);
  // 1.8 MB less the burst at 4 MB/s, waited for by both threads and by us.
  CHECK(shown->fetch_ns > 2 * kSecond_ns / 4);
  CHECK(shown->prep_ns > 0);
  CHECK(shown->prepared >= 200);
  CHECK(shown->wait_ns > kSecond_ns / 4);
}

TEST_CASE("penstock-train's report appears on the progress page") {
  HintPage page;
  const Records records;
  page.write(2, 4000000, false);
  const auto pipeline = records.load(penstock_link(page.handle()));
  TrainOptions options;
  options.duration_s = 0.6;
  TrainProgress progress;
  const std::atomic<bool> stop{false};
  Trainer trainer(options, *pipeline, progress, page.handle(), nullptr, stop);
  REQUIRE(trainer.run());
  const penstock_progress_page* shown = page.daemon().progress();
  CHECK(shown->samples == progress.samples);
  CHECK(shown->steps == progress.steps);
  CHECK(shown->fetch_ns > 2 * kSecond_ns / 4);
  CHECK(shown->prep_ns > 0);
  CHECK(shown->bytes >= progress.samples * kSampleBytes);
  CHECK(shown->wait_ns > kSecond_ns / 4);
  CHECK(shown->follows_hint == 1);
}
