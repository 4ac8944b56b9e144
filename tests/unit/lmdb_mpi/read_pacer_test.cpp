#include "loader/lmdb/mpi/read_pacer.h"

#include <thread>

#include "common/clock.h"
#include "tests/unit/catch.h"

using namespace penstock;
using namespace penstock::lmdb;

namespace {

Status never() { return Done{}; }

// A hint page with a changing rate.
struct Page {
  std::atomic<uint64_t> rate_bytes_per_s{0};

  PipelineLink link() {
    PipelineLink link;
    link.hint = [this] {
      return std::optional<PipelineHint>({1, rate_bytes_per_s.load()});
    };
    return link;
  }
};

double seconds_of(ReadPacer& pacer, int reads, uint64_t bytes) {
  const uint64_t begin_ns = monotonic_ns();
  for (int i = 0; i < reads; ++i) REQUIRE(pacer.wait(bytes, never));
  return static_cast<double>(monotonic_ns() - begin_ns) * 1e-9;
}

}  // namespace

TEST_CASE("without a hint no read waits") {
  ReadPacer pacer({}, 4);
  CHECK(seconds_of(pacer, 1000, uint64_t{1} << 30) < 1);
}

TEST_CASE("reads stay within the sum of the rates of all served ranks") {
  Page page;
  page.rate_bytes_per_s = 10000000;
  ReadPacer pacer(page.link(), 4);
  // 24 MB at 40 MB/s, less the burst of 0.1 s and the debt of the last read.
  CHECK(seconds_of(pacer, 24, 1000000) >= 0.45);
}

TEST_CASE("threads share the rate") {
  Page page;
  page.rate_bytes_per_s = 40000000;
  ReadPacer pacer(page.link(), 1);
  const uint64_t begin_ns = monotonic_ns();
  {
    const auto read = [&] {
      for (int k = 0; k < 12; ++k) (void)pacer.wait(1000000, never);
    };
    const std::jthread one(read), other(read);
  }
  CHECK(monotonic_ns() - begin_ns >= 420000000);
}

TEST_CASE("a removed rate ends the waits") {
  Page page;
  page.rate_bytes_per_s = 1000;
  ReadPacer pacer(page.link(), 1);
  REQUIRE(pacer.wait(1000000, never));  // owes 1,000 s
  std::jthread later([&] { page.rate_bytes_per_s = 0; });
  CHECK(seconds_of(pacer, 1, 1000000) < 1);
}

TEST_CASE("a wait ends if the callback returns an error") {
  Page page;
  page.rate_bytes_per_s = 1000;
  ReadPacer pacer(page.link(), 1);
  REQUIRE(pacer.wait(1000000, never));
  const Status waited =
      pacer.wait(1, [] { return Status(invalid("closing")); });
  REQUIRE(!waited);
  CHECK(waited.error().message == "closing");
}
