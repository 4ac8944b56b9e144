#include "loader/lmdb/page_batch.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include <cerrno>

#include "common/unique_fd.h"
#include "tests/unit/catch.h"
#include "tests/unit/lmdb/lmdb_files.h"
#include "tests/unit/lmdb/refused_call.h"

using namespace penstock;
using namespace penstock::lmdb;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr size_t kFileBytes = 3000000;

struct Numbers {
  TempFolder folder;
  std::vector<uint8_t> bytes;
  UniqueFd fd;

  Numbers() {
    std::mt19937_64 random(1);
    for (size_t i = 0; i < kFileBytes; ++i) {
      bytes.push_back(static_cast<uint8_t>(random()));
    }
    write_file(folder.path("a"), bytes);
    fd.reset(::open(folder.path("a").c_str(), O_RDONLY | O_CLOEXEC));
  }
};

}  // namespace

TEST_CASE("all ranges are filled, also more than can be under way at once") {
  const Numbers numbers;
  for (const ReadWith with : {ReadWith::kBest, ReadWith::kPread}) {
    PageBatch batch(with);
    std::vector<std::vector<uint8_t>> got;
    std::vector<PageRange> ranges;
    got.reserve(1000);
    for (size_t i = 0; i < 1000; ++i) {
      got.emplace_back(1 + i * 13 % 5000);
      ranges.push_back({i * 7919 % (kFileBytes - 5000), got.back()});
    }
    // Twice: a batch can be used again.
    for (int round = 0; round < 2; ++round) {
      REQUIRE(batch.read(numbers.fd.get(), ranges));
      for (size_t i = 0; i < ranges.size(); ++i) {
        CHECK(std::equal(
            got[i].begin(), got[i].end(),
            numbers.bytes.begin() + static_cast<ptrdiff_t>(ranges[i].offset)));
        std::fill(got[i].begin(), got[i].end(), 0);
      }
    }
  }
}

TEST_CASE("ranges without bytes are ignored") {
  const Numbers numbers;
  for (const ReadWith with : {ReadWith::kBest, ReadWith::kPread}) {
    std::vector<uint8_t> into(20);
    const PageRange ranges[] = {{7, {}},
                                {5, std::span(into).first(10)},
                                {kFileBytes, {}},
                                {5, std::span(into).last(10)}};
    REQUIRE(PageBatch(with).read(numbers.fd.get(), ranges));
    CHECK(std::equal(into.begin() + 10, into.end(), numbers.bytes.begin() + 5));
  }
}

TEST_CASE(
    "a range beyond the file's end is an error, and the next batch works") {
  const Numbers numbers;
  for (const ReadWith with : {ReadWith::kBest, ReadWith::kPread}) {
    PageBatch batch(with);
    std::vector<uint8_t> into(4000);
    const PageRange ranges[] = {
        {0, std::span(into).first(1000)},
        {kFileBytes - 500, std::span(into).subspan(1000, 1000)},
        {1000, std::span(into).subspan(2000, 1000)}};
    Status status = batch.read(numbers.fd.get(), ranges);
    REQUIRE_FALSE(status);
    CHECK(status.error().code == Code::kIo);
    CHECK_THAT(status.error().message,
               ContainsSubstring("the file ends at byte 3000000"));
    CHECK(batch.read(numbers.fd.get(), std::span(ranges).first(1)));
    CHECK(batch.read(numbers.fd.get(), {}));
  }
}

// Container filters may allow io_uring_setup() but not io_uring_enter().
TEST_CASE("without permission for io_uring_enter() pread() is used") {
  const Numbers numbers;
  CHECK(holds_when_refused(SYS_io_uring_enter, EPERM, [&] {
    std::vector<uint8_t> into(20000);
    std::vector<PageRange> ranges;
    for (size_t i = 0; i < 200; ++i) {
      ranges.push_back({i * 100, std::span(into).subspan(i * 100, 100)});
    }
    PageBatch batch;
    return batch.read(numbers.fd.get(), ranges) && !batch.has_io_uring() &&
           std::equal(into.begin(), into.end(), numbers.bytes.begin()) &&
           batch.read(numbers.fd.get(), ranges);
  }));
}

TEST_CASE("without io_uring's probe pread() is used") {
  CHECK(holds_when_refused(SYS_io_uring_register, EINVAL,
                           [] { return !PageBatch().has_io_uring(); }));
}

TEST_CASE("a failed read is an error with its offset") {
  const TempFolder folder;
  const UniqueFd fd(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY));
  for (const ReadWith with : {ReadWith::kBest, ReadWith::kPread}) {
    std::vector<uint8_t> into(20);
    const PageRange ranges[] = {{7, std::span(into).first(10)},
                                {7, std::span(into).last(10)}};
    Status status = PageBatch(with).read(fd.get(), ranges);
    REQUIRE_FALSE(status);
    CHECK(status.error().code == Code::kIo);
    CHECK(status.error().message == "cannot read at byte 7: Is a directory");
  }
}
