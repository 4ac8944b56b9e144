#include "node_agent/pages.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

template <uint64_t second>
uint64_t at() {
  return second * kSecond;
}

// The job's mappings of the descriptors that it receives.
struct JobSide {
  explicit JobSide(const TaskPages& pages) {
    progress = static_cast<penstock_progress_page*>(
        ::mmap(nullptr, PENSTOCK_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
               pages.progress_fd(), 0));
    hint = static_cast<const penstock_hint_page*>(
        ::mmap(nullptr, PENSTOCK_PAGE_BYTES, PROT_READ, MAP_SHARED,
               pages.hint_fd(), 0));
  }
  ~JobSide() {
    ::munmap(progress, PENSTOCK_PAGE_BYTES);
    ::munmap(const_cast<penstock_hint_page*>(hint), PENSTOCK_PAGE_BYTES);
  }
  void greet() {
    progress->version = PENSTOCK_PAGE_VERSION;
    progress->started_ns = kSecond;
    progress->updated_ns = 2 * kSecond;
    progress->magic = PENSTOCK_PROGRESS_MAGIC;
  }

  penstock_progress_page* progress = nullptr;
  const penstock_hint_page* hint = nullptr;
};

}  // namespace

TEST_CASE("an unwritten page gives no progress and is not garbage") {
  auto pages = TaskPages::create();
  REQUIRE(pages.ok());
  CHECK_FALSE(pages->read(at<10>).has_value());
  CHECK_FALSE(pages->garbage());
}

TEST_CASE("progress that the job writes is read") {
  auto pages = TaskPages::create();
  JobSide job(*pages);
  job.greet();
  job.progress->samples = 640;
  job.progress->wait_ns = kSecond / 2;
  auto progress = pages->read(at<10>);
  REQUIRE(progress.has_value());
  CHECK(progress->samples == 640);
  CHECK(progress->wait_ns == kSecond / 2);
}

TEST_CASE("a decreasing run delay counts as garbage") {
  auto pages = TaskPages::create();
  JobSide job(*pages);
  job.greet();
  job.progress->delay_ns = kSecond;
  CHECK(pages->read(at<10>)->delay_ns == kSecond);
  job.progress->delay_ns = kSecond / 2;
  CHECK_FALSE(pages->read(at<10>));
  CHECK(pages->garbage());
}

TEST_CASE("a page follows the hint only while its flag is set") {
  auto pages = TaskPages::create();
  JobSide job(*pages);
  job.greet();
  job.progress->loader_threads = 2;
  CHECK_FALSE(pages->read(at<10>)->follows_hint);
  job.progress->follows_hint = 1;
  CHECK(pages->read(at<10>)->follows_hint);
  job.progress->follows_hint = 0;
  CHECK_FALSE(pages->read(at<10>)->follows_hint);
}

TEST_CASE("unreported samples are computed from steps and batch size") {
  const Progress steps_only{.steps = 10, .wait_ns = 3};
  CHECK(samples_counted(steps_only, 0).samples == 0);
  CHECK(samples_counted(steps_only, 32).samples == 320);
  CHECK(samples_counted(steps_only, 32).wait_ns == 3);
  // Samples that the job reports take precedence.
  CHECK(samples_counted({.samples = 7, .steps = 10}, 32).samples == 7);
  CHECK(samples_counted({.steps = UINT64_MAX}, 1000000).samples >
        UINT64_MAX / 2);
}

TEST_CASE("the job cannot resize or seal its pages, nor write the hint page") {
  auto pages = TaskPages::create();
  CHECK(::ftruncate(pages->progress_fd(), 0) != 0);
  CHECK(::ftruncate(pages->progress_fd(), 1 << 20) != 0);
  CHECK(::ftruncate(pages->hint_fd(), 0) != 0);
  CHECK(::fcntl(pages->progress_fd(), F_ADD_SEALS, F_SEAL_WRITE) != 0);
  CHECK(::mmap(nullptr, PENSTOCK_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
               pages->hint_fd(), 0) == MAP_FAILED);
  // Nor after reopening the memfd for writing.
  const std::string path = "/proc/self/fd/" + std::to_string(pages->hint_fd());
  UniqueFd again(::open(path.c_str(), O_RDWR));
  if (again) {
    CHECK(::mmap(nullptr, PENSTOCK_PAGE_BYTES, PROT_READ | PROT_WRITE,
                 MAP_SHARED, again.get(), 0) == MAP_FAILED);
    const char byte = 1;
    CHECK(::write(again.get(), &byte, 1) != 1);
  }
}

namespace {

// A job that writes to the page during its reading, at the call of the clock.
JobSide* writer = nullptr;

uint64_t while_it_writes() {
  writer->progress->updated_ns = 100 * kSecond;
  writer->progress->wait_ns = 90 * kSecond;
  return 10 * kSecond;
}

}  // namespace

TEST_CASE("a write during the reading of a page does not count as garbage") {
  auto pages = TaskPages::create();
  JobSide job(*pages);
  job.greet();
  writer = &job;
  auto progress = pages->read(while_it_writes);
  REQUIRE(progress.has_value());
  CHECK(progress->updated_ns == 2 * kSecond);
  CHECK_FALSE(pages->garbage());
}

TEST_CASE("a page with garbage is detected and ignored from then on") {
  auto scribble = GENERATE(range(0, 12));
  auto pages = TaskPages::create();
  JobSide job(*pages);
  job.greet();
  job.progress->samples = 100;
  job.progress->exchange_ns = kSecond;
  job.progress->cached = job.progress->cached_bytes = 7;
  job.progress->peer = job.progress->peer_bytes = 7;
  REQUIRE(pages->read(at<10>)->exchange_ns == kSecond);
  if (scribble == 0) job.progress->magic = 0xdeadbeef;
  if (scribble == 1) job.progress->version = 99;
  if (scribble == 2) job.progress->samples = 5;  // went back
  if (scribble == 3) job.progress->wait_ns = 100 * kSecond;
  if (scribble == 4) job.progress->updated_ns = 100 * kSecond;
  if (scribble == 5) job.progress->follows_hint = 2;
  if (scribble == 6) job.progress->exchange_ns = kSecond - 1;
  if (scribble == 7) job.progress->exchange_ns = 100 * kSecond;
  if (scribble == 8) job.progress->cached = 6;
  if (scribble == 9) job.progress->cached_bytes = 6;
  if (scribble == 10) job.progress->peer = 6;
  if (scribble == 11) job.progress->peer_bytes = 6;
  CHECK_FALSE(pages->read(at<10>).has_value());
  CHECK(pages->garbage());
  job.greet();
  CHECK_FALSE(pages->read(at<11>).has_value());
}

TEST_CASE("an unchanged hint is published once, under an even sequence") {
  auto pages = TaskPages::create();
  JobSide job(*pages);
  pages->publish({.loader_threads = 3,
                  .granted_millicores = 1667,
                  .rate_bytes_per_s = 1 << 20,
                  .kernel_limited = true});
  CHECK(job.hint->loader_threads == 3);
  CHECK(job.hint->granted_millicores == 1667);
  CHECK(job.hint->rate_bytes_per_s == 1 << 20);
  CHECK(job.hint->kernel_limited == 1);
  CHECK(job.hint->sequence == 2);
  const uint64_t version = job.hint->grant_version;
  pages->publish({.loader_threads = 3,
                  .granted_millicores = 1667,
                  .rate_bytes_per_s = 1 << 20,
                  .kernel_limited = true});
  CHECK(job.hint->sequence == 2);
  CHECK(job.hint->grant_version == version);
}
