// A pipeline's memory over many epochs while its number of threads changes.
// PENSTOCK_SOAK_S: how many seconds the last test lasts; default 3.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "common/units.h"
#include "penstock/loader/pipeline.h"
#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"

using namespace penstock;
using namespace penstock::test;

namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool kMemoryIsOurs = false;  // the sanitizer keeps what was freed
#else
constexpr bool kMemoryIsOurs = true;
#endif

constexpr uint64_t kSecond_ns = 1000000000;
constexpr uint64_t kMiB = 1 << 20;
constexpr size_t kThreads = 4;
// A thread's other memory: stack, arena, the decoder library's.
constexpr uint64_t kThreadBase_bytes = kMiB;
// The batches of 24 hours at one per 0.5 s, within ten minutes.
constexpr double kBatchesPerS = 24 * 3600 * 2 / 600.0;

uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t all = 0;
  uint64_t resident = 0;
  statm >> all >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

size_t entries(const char* folder) {
  return static_cast<size_t>(
      std::distance(std::filesystem::directory_iterator(folder), {}));
}

// One to four threads, a different number on each call.
PipelineLink restless_link() {
  auto asked = std::make_shared<std::atomic<size_t>>(0);
  PipelineLink link;
  link.hint = [asked] {
    const size_t turn = (*asked)++;
    return PipelineHint{1 + turn * 7 % kThreads, 0};
  };
  return link;
}

PipelineOptions elastic_options() {
  PipelineOptions options;
  options.threads_max = kThreads;
  options.elastic = true;
  return options;
}

// Takes the whole stream and calls at_end_of_epoch() after each epoch.
template <class AtEnd>
uint64_t take_all(Pipeline& pipeline, AtEnd at_end_of_epoch) {
  uint64_t batches = 0;
  while (!pipeline.finished()) {
    auto batch = pipeline.next(kSecond_ns);
    REQUIRE(batch);
    if (!*batch) continue;
    ++batches;
    const bool ends_epoch = (*batch)->ends_epoch;
    pipeline.release(**batch);
    if (ends_epoch) at_end_of_epoch();
  }
  return batches;
}

}  // namespace

TEST_CASE("memory stays within its bound and does not grow over 50 epochs") {
  constexpr uint64_t kBound_bytes = 48 * kMiB;
  const TempFolder folder;
  for (int i = 0; i < 24; ++i) {
    const auto name = folder.path(std::to_string(i));
    // The largest take nearly all of a thread's share.
    const auto file = i % 8 == 0 ? ppm_bytes(800 + i, 800, i)
                                 : jpeg_bytes(500 - 10 * i, 375, i);
    write_file(name + (i % 8 == 0 ? ".ppm" : ".jpg"), file);
  }
  auto dataset = open_folder(folder.path());
  REQUIRE(dataset);
  PipelineOptions options = elastic_options();
  options.batch_samples = 8;
  options.total_samples = 50 * (*dataset)->size();
  options.ring_batches = 1024;
  options.memory_bytes = kBound_bytes;
  const uint64_t before_bytes = resident_bytes();
  auto pipeline = Pipeline::create(*dataset, options, restless_link());
  REQUIRE(pipeline);
  std::vector<uint64_t> bytes;
  take_all(**pipeline, [&] { bytes.push_back(resident_bytes()); });
  REQUIRE(bytes.size() == 50);
  CHECK((*pipeline)->counters().broken == 0);
  const uint64_t most_bytes = *std::max_element(bytes.begin(), bytes.end());
  // The average may differ by one living thread with its largest picture. A
  // leak of a file per sample would be many times as much.
  constexpr uint64_t kThreadShare_bytes = kBound_bytes / 2 / kThreads;
  const auto mean = [](auto from, auto to) {
    return std::accumulate(from, to, uint64_t{0}) /
           static_cast<uint64_t>(to - from);
  };
  const uint64_t early_bytes = mean(bytes.begin() + 5, bytes.begin() + 25);
  const uint64_t late_bytes = mean(bytes.end() - 20, bytes.end());
  const auto mib = [](uint64_t it) { return double(it) / double(kMiB); };
  std::printf(
      "50 epochs: %.1f MiB before, %.1f at most, bound %.1f; on average "
      "%.1f early, %.1f late\n",
      mib(before_bytes), mib(most_bytes), mib(kBound_bytes), mib(early_bytes),
      mib(late_bytes));
  if (!kMemoryIsOurs) return;
  CHECK(most_bytes <=
        before_bytes + kBound_bytes + kThreads * kThreadBase_bytes);
  CHECK(late_bytes <= early_bytes + kThreadShare_bytes);
}

TEST_CASE("a day's batches leak no memory, descriptor or thread") {
  const char* text = std::getenv("PENSTOCK_SOAK_S");
  const auto seconds = parse_uint(text ? text : "3", 1, 86400);
  REQUIRE(seconds);
  const TempFolder folder;
  write_jpegs(folder, 63);
  write_file(folder.path("broken.jpg"), {1, 2, 3});
  auto dataset = open_folder(folder.path());
  REQUIRE(dataset);
  PipelineOptions options = elastic_options();
  options.batch_samples = 8;
  options.crop_side = 32;
  constexpr uint64_t kBound_bytes = 16 * kMiB;
  options.memory_bytes = kBound_bytes;
  options.total_samples = 100 * (*dataset)->size();
  uint64_t batches = 0;
  uint64_t streams = 0;
  uint64_t early_bytes = 0;
  uint64_t late_bytes = 0;
  const size_t files = entries("/proc/self/fd");
  const uint64_t begin_ns = monotonic_ns();
  const uint64_t lasts_ns = *seconds * kSecond_ns;
  // Consecutive streams, each resumed at the end of the previous one.
  while (monotonic_ns() - begin_ns < lasts_ns) {
    options.is_ordered = streams++ % 2 == 0;
    auto pipeline = Pipeline::create(*dataset, options, restless_link());
    REQUIRE(pipeline);
    batches += take_all(**pipeline, [&] {
      const bool is_early = monotonic_ns() - begin_ns < lasts_ns / 4;
      uint64_t& most_bytes = is_early ? early_bytes : late_bytes;
      most_bytes = std::max(most_bytes, resident_bytes());
    });
    options.from = (*pipeline)->state();
    REQUIRE(options.from->epoch == 100 * streams);
    REQUIRE((*pipeline)->counters().broken == 100);
  }
  const double took_s = double(monotonic_ns() - begin_ns) * 1e-9;
  std::printf(
      "%.0f s: %llu batches in %llu streams; at most %.1f MiB in the "
      "first quarter, %.1f MiB later\n",
      took_s, static_cast<unsigned long long>(batches),
      static_cast<unsigned long long>(streams),
      double(early_bytes) / double(kMiB), double(late_bytes) / double(kMiB));
  CHECK(entries("/proc/self/fd") == files);
  // A joined thread stays listed for a moment.
  for (int i = 0; i < 500 && entries("/proc/self/task") > 1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(entries("/proc/self/task") == 1);
  if (!kMemoryIsOurs) return;
  CHECK(double(batches) >= kBatchesPerS * took_s);
  CHECK(late_bytes <= early_bytes + kBound_bytes / 2 / kThreads);
}
