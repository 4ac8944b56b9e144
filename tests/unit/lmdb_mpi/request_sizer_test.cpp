#include "loader/lmdb/mpi/request_sizer.h"

#include "tests/unit/catch.h"

using namespace penstock::lmdb;

namespace {

// A storage with a delay per request and a limited rate.
uint64_t read_ns(uint64_t request_bytes, uint64_t delay_ns,
                 double bytes_per_ns) {
  return delay_ns + static_cast<uint64_t>(static_cast<double>(request_bytes) /
                                          bytes_per_ns);
}

uint64_t learnt_bytes(RequestSizer& sizer, uint64_t best_bytes) {
  for (int i = 0; i < 40; ++i) {
    const uint64_t size = sizer.next_bytes();
    const uint64_t delay_ns = size == best_bytes ? 0 : 5000000;
    sizer.observe(size, size, read_ns(size, delay_ns, 1.0));
  }
  return sizer.next_bytes();
}

}  // namespace

TEST_CASE("the fastest request size is used") {
  for (const uint64_t best : RequestSizer::kSizes_bytes) {
    RequestSizer sizer;
    CHECK(learnt_bytes(sizer, best) == best);
  }
}

TEST_CASE("request sizes are tried again after a change of storage") {
  RequestSizer sizer;
  CHECK(learnt_bytes(sizer, 8 << 20) == 8 << 20);
  for (uint32_t i = 0; i < RequestSizer::kUses; ++i) {
    sizer.observe(sizer.next_bytes(), 1 << 20, 1 << 20);
  }
  CHECK(learnt_bytes(sizer, 256 << 10) == 256 << 10);
}
