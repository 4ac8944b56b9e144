// A pipeline in a process with limited memory (RLIMIT_AS).
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "penstock/loader/pipeline.h"
#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr uint64_t kSecond_ns = 1000000000;
constexpr uint64_t kMiB = 1 << 20;

#ifdef __SANITIZE_ADDRESS__
constexpr bool kIsSanitized = true;  // its own memory would not fit either
#else
constexpr bool kIsSanitized = false;
#endif

// Runs body in a child process with more_bytes of further memory; returns its
// result.
template <class Body>
bool with_memory(uint64_t more_bytes, Body body) {
  if (kIsSanitized) return true;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const uint64_t most_bytes =
        pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + more_bytes;
    const rlimit limit{most_bytes, most_bytes};
    setrlimit(RLIMIT_AS, &limit);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CAPTURE(status);
  CHECK(WIFEXITED(status));  // no crash, and no hang
  return status == 0;
}

bool take_all(Pipeline& pipeline) {
  while (!pipeline.finished()) {
    const auto batch = pipeline.next(kSecond_ns);
    if (!batch) return false;
    if (*batch) pipeline.release(**batch);
  }
  return true;
}

std::shared_ptr<const Dataset> pictures_in(const TempFolder& folder) {
  auto dataset = open_folder(folder.path());
  REQUIRE(dataset);
  return *dataset;
}

}  // namespace

TEST_CASE("no memory for the ring is an error that names the ring") {
  const TempFolder folder;
  write_jpegs(folder, 1);
  const auto dataset = pictures_in(folder);
  CHECK(with_memory(64 * kMiB, [&] {
    PipelineOptions options;
    options.batch_samples = 512;  // 1.2 GB in four batches
    const auto pipeline = Pipeline::create(dataset, options, {});
    return !pipeline && pipeline.error().code == Code::kLimit &&
           pipeline.error().message.find("no memory for the ring") == 0;
  }));
}

TEST_CASE("without memory for more threads the existing ones continue") {
  const TempFolder folder;
  write_jpegs(folder, 8);
  const auto dataset = pictures_in(folder);
  CHECK(with_memory(100 * kMiB, [&] {
    PipelineOptions options;
    options.crop_side = 16;
    options.total_samples = 4000;
    options.threads = 64;  // stacks of 8 MB each
    options.threads_max = 64;
    const auto pipeline = Pipeline::create(dataset, options, {});
    return pipeline && take_all(**pipeline) &&
           (*pipeline)->counters().prepared == 4000;
  }));
}

TEST_CASE("a picture too large for the memory is a broken sample") {
  const TempFolder folder;
  write_jpegs(folder, 3);
  write_file(folder.path("large.ppm"), ppm_bytes(5000, 4000, 1));
  const auto dataset = pictures_in(folder);
  CHECK(with_memory(48 * kMiB, [&] {
    PipelineOptions options;
    options.crop_side = 16;
    options.batch_samples = 2;
    options.total_samples = 40;
    std::string why;
    PipelineLink link;
    link.broken = [&](const std::string& text) { why = text; };
    const auto pipeline = Pipeline::create(dataset, options, link);
    return pipeline && take_all(**pipeline) &&
           (*pipeline)->counters().prepared == 30 &&
           (*pipeline)->counters().broken == 10 &&
           why == folder.path("large.ppm") + ": no memory to read it";
  }));
}

TEST_CASE("a dataset without a sample that fits into memory ends the stream") {
  const TempFolder folder;
  write_file(folder.path("large.ppm"), ppm_bytes(5000, 4000, 1));
  const auto dataset = pictures_in(folder);
  CHECK(with_memory(48 * kMiB, [&] {
    PipelineOptions options;
    options.crop_side = 16;
    options.batch_samples = 2;
    const auto pipeline = Pipeline::create(dataset, options, {});
    if (!pipeline) return false;
    for (;;) {
      const auto batch = (*pipeline)->next(kSecond_ns);
      if (batch && *batch) return false;
      if (batch) continue;
      return batch.error().message ==
             "all samples of " + folder.path() +
                 " are broken; the last: " + folder.path("large.ppm") +
                 ": no memory to read it";
    }
  }));
}
