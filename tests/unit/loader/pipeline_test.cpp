#include "penstock/loader/pipeline.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"

using penstock::Code;
using penstock::open_folder;
using penstock::Pipeline;
using penstock::PipelineHint;
using penstock::PipelineLink;
using penstock::PipelineOptions;
using penstock::test::jpeg_bytes;
using penstock::test::ppm_bytes;
using penstock::test::TempFolder;
using penstock::test::write_file;
using penstock::test::write_jpegs;

namespace {

constexpr uint64_t kSecond = 1000000000;

PipelineOptions small_options(uint64_t samples) {
  PipelineOptions options;
  options.batch_samples = 4;
  options.crop_side = 16;
  options.seed = 7;
  options.total_samples = samples;
  options.threads_max = 8;
  return options;
}

std::unique_ptr<Pipeline> make(const TempFolder& folder,
                               PipelineOptions options,
                               PipelineLink link = {}) {
  auto dataset = open_folder(folder.path());
  REQUIRE(dataset);
  auto loader = Pipeline::create(*dataset, options, std::move(link));
  REQUIRE(loader);
  return std::move(*loader);
}

// Every sample of the stream, one vector each.
std::vector<std::vector<float>> all_samples(Pipeline& loader, size_t floats) {
  std::vector<std::vector<float>> samples;
  while (!loader.finished()) {
    auto batch = loader.next(kSecond);
    REQUIRE(batch);
    if (!*batch) continue;
    for (size_t i = 0; i < (*batch)->size; ++i) {
      const float* begin = (*batch)->data + i * floats;
      samples.emplace_back(begin, begin + floats);
    }
    loader.release(**batch);
  }
  return samples;
}

constexpr size_t kFloats = 3 * 16 * 16;

template <class Done>
bool eventually(Done done) {
  for (int i = 0; i < 500 && !done(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return done();
}

}  // namespace

TEST_CASE("the same seed gives the same bits with any number of threads") {
  const TempFolder folder;
  write_jpegs(folder, 10);
  PipelineOptions options = small_options(35);  // three and a half epochs
  const auto expected = all_samples(*make(folder, options), kFloats);
  REQUIRE(expected.size() == 35);
  for (size_t threads : {2, 3, 8}) {
    CAPTURE(threads);
    options.threads = threads;
    CHECK(all_samples(*make(folder, options), kFloats) == expected);
  }
  options.seed = 8;
  CHECK(all_samples(*make(folder, options), kFloats) != expected);
}

TEST_CASE("the bits do not change while the pool grows and shrinks") {
  const TempFolder folder;
  write_jpegs(folder, 10);
  PipelineOptions options = small_options(3000);
  const auto expected = all_samples(*make(folder, options), kFloats);
  options.elastic = true;
  std::atomic<size_t> asked{0};
  PipelineLink link;
  link.hint = [&] { return PipelineHint{1 + asked++ % 4, 0}; };
  CHECK(all_samples(*make(folder, options, link), kFloats) == expected);
  CHECK(asked > 1);
}

TEST_CASE("each epoch has every sample once") {
  const TempFolder folder;
  for (int i = 0; i < 9; ++i) {
    // One colour per picture, which no crop changes.
    std::vector<uint8_t> file = penstock::test::bytes_of("P6 20 20 255\n");
    file.insert(file.end(), 1200, static_cast<uint8_t>(20 * i));
    write_file(folder.path(std::to_string(i) + ".ppm"), file);
  }
  const auto loader = make(folder, small_options(27));
  const auto samples = all_samples(*loader, kFloats);
  REQUIRE(samples.size() == 27);
  for (size_t epoch = 0; epoch < 3; ++epoch) {
    std::map<float, int> colours;
    for (size_t i = 0; i < 9; ++i) ++colours[samples[9 * epoch + i][0]];
    CHECK(colours.size() == 9);
  }
}

TEST_CASE("the pool follows the hint within its bounds") {
  const TempFolder folder;
  write_jpegs(folder, 3);
  PipelineOptions options = small_options(UINT64_MAX);
  options.threads = 2;
  options.threads_min = 2;
  options.threads_max = 5;
  options.elastic = true;
  std::atomic<size_t> hinted{3};
  std::atomic<bool> present{true};
  std::atomic<int> registered{0};
  PipelineLink link;
  link.hint = [&]() -> std::optional<PipelineHint> {
    if (!present) return std::nullopt;
    return PipelineHint{hinted, 0};
  };
  link.thread = [&](bool starts) { registered += starts ? 1 : -1; };
  auto loader = make(folder, options, link);
  const auto threads = [&] {
    return loader->counters().threads == static_cast<size_t>(registered)
               ? registered.load()
               : -1;
  };
  CHECK(eventually([&] { return threads() == 3; }));
  hinted = 100;
  CHECK(eventually([&] { return threads() == 5; }));
  hinted = 1;
  CHECK(eventually([&] { return threads() == 2; }));
  hinted = 4;
  CHECK(eventually([&] { return threads() == 4; }));
  present = false;  // without penstockd: back to Slurm's number
  CHECK(eventually([&] { return threads() == 2; }));
  loader.reset();
  CHECK(registered == 0);
}

TEST_CASE("a fixed number of threads ignores the hint") {
  const TempFolder folder;
  write_jpegs(folder, 3);
  PipelineOptions options = small_options(UINT64_MAX);
  options.threads = 2;
  std::atomic<int> asked{0};
  PipelineLink link;
  link.hint = [&] {
    ++asked;
    return PipelineHint{6, 0};
  };
  const auto loader = make(folder, options, link);
  REQUIRE(eventually([&] { return asked > 2; }));
  CHECK(loader->counters().threads == 2);
}

TEST_CASE("reads stay within the hint's rate") {
  const TempFolder folder;
  for (int i = 0; i < 4; ++i) {
    write_file(folder.path(std::to_string(i) + ".ppm"), ppm_bytes(100, 100, i));
  }
  PipelineOptions options = small_options(40);
  options.threads = 3;
  PipelineLink link;
  link.hint = [] { return PipelineHint{3, 2000000}; };
  const auto begin = std::chrono::steady_clock::now();
  const auto loader = make(folder, options, link);
  CHECK(all_samples(*loader, kFloats).size() == 40);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  // 1.2 MB at 2 MB/s; 0.2 MB of it are the burst.
  CHECK(loader->counters().bytes == 40 * 30015);
  CHECK(took.count() > 0.35);
}

TEST_CASE("a broken sample is counted, named once and skipped") {
  const TempFolder folder;
  write_jpegs(folder, 7);
  auto cut = jpeg_bytes(80, 60, 1);
  cut.resize(cut.size() / 2);
  write_file(folder.path("7.jpg"), cut);
  std::mutex mutex;
  std::vector<std::string> named;
  PipelineLink link;
  link.broken = [&](const std::string& why) {
    const std::lock_guard lock(mutex);
    named.push_back(why);
  };
  PipelineOptions options = small_options(32);  // four epochs
  options.threads = 3;
  const auto loader = make(folder, options, link);
  CHECK(all_samples(*loader, kFloats).size() == 28);
  CHECK(loader->counters().broken == 4);
  CHECK(loader->counters().prepared == 28);
  REQUIRE(named.size() == 1);
  CHECK(named[0].find(folder.path("7.jpg") + ": JPEG: ") == 0);
}

TEST_CASE("a dataset of broken samples is an error") {
  const TempFolder folder;
  const int files = GENERATE(1, 3, 10);
  for (int i = 0; i < files; ++i) {
    write_file(folder.path(std::to_string(i) + ".jpg"), {1, 2, 3});
  }
  const uint64_t samples = GENERATE(uint64_t{2}, UINT64_MAX);
  const auto loader = make(folder, small_options(samples));
  auto batch = loader->next(5 * kSecond);
  REQUIRE_FALSE(batch);
  CHECK(batch.error().code == Code::kIo);
  CHECK_THAT(batch.error().message, Catch::Matchers::ContainsSubstring(
                                        "all samples of " + folder.path()));
}

TEST_CASE("a stream whose last batch is broken ends without an error") {
  const TempFolder folder;
  write_jpegs(folder, 4);
  write_file(folder.path("4.jpg"), {1, 2, 3});
  PipelineOptions options = small_options(5);
  options.batch_samples = 1;
  const auto loader = make(folder, options);
  CHECK(all_samples(*loader, kFloats).size() == 4);
}

TEST_CASE("options outside their range are refused") {
  const TempFolder folder;
  write_jpegs(folder, 1);
  PipelineOptions options = small_options(1);
  SECTION("batch") { options.batch_samples = 0; }
  SECTION("large batch") { options.batch_samples = 65537; }
  SECTION("crop") { options.crop_side = 0; }
  SECTION("threads") { options.threads = 9; }
  SECTION("minimum") { options.threads_min = 2; }
  SECTION("maximum") { options.threads_max = 5000; }
  SECTION("ring") { options.ring_batches = 0; }
  SECTION("samples") { options.total_samples = 0; }
  auto dataset = open_folder(folder.path());
  REQUIRE(dataset);
  auto loader = Pipeline::create(*dataset, options, {});
  REQUIRE_FALSE(loader);
  CHECK(loader.error().code == Code::kInvalidArgument);
}

TEST_CASE("a ring beyond the size limit is refused") {
  const TempFolder folder;
  write_jpegs(folder, 1);
  PipelineOptions options = small_options(UINT64_MAX);
  options.batch_samples = 65536;
  options.crop_side = 4096;
  options.ring_batches = 1024;
  auto dataset = open_folder(folder.path());
  REQUIRE(dataset);
  auto loader = Pipeline::create(*dataset, options, {});
  REQUIRE_FALSE(loader);
  CHECK(loader.error().code == Code::kInvalidArgument);
  CHECK_THAT(loader.error().message,
             Catch::Matchers::ContainsSubstring("ring"));
}

TEST_CASE("samples, bytes, fetch, preparation and CPU time are counted") {
  const TempFolder folder;
  write_jpegs(folder, 4);
  const auto loader = make(folder, small_options(40));
  all_samples(*loader, kFloats);
  const auto counters = loader->counters();
  CHECK(counters.prepared == 40);
  CHECK(counters.bytes > 0);
  CHECK(counters.fetch_ns > 0);
  CHECK(counters.prep_ns > 0);
  CHECK(counters.cpu_ns > 0);
}
