#include "loader/pipeline/token_bucket.h"

#include "tests/unit/catch.h"

using penstock::TokenBucket;

namespace {

constexpr uint64_t kSecond = 1000000000;

// Reads records one after the other until `seconds` have passed; returns the
// bytes read.
uint64_t read_for(TokenBucket& bucket, uint64_t record_bytes, double seconds,
                  uint64_t& now_ns) {
  const uint64_t end_ns = now_ns + static_cast<uint64_t>(seconds * kSecond);
  uint64_t bytes = 0;
  while (now_ns < end_ns) {
    const uint64_t wait_ns = bucket.take(record_bytes, now_ns);
    if (wait_ns == 0) bytes += record_bytes;
    now_ns += wait_ns;
  }
  return bytes;
}

}  // namespace

TEST_CASE("without a rate no read waits") {
  TokenBucket bucket;
  for (int i = 0; i < 100; ++i) CHECK(bucket.take(1 << 30, kSecond) == 0);
}

TEST_CASE("the average rate is exact for small and for large records") {
  const uint64_t record = GENERATE(100, 4096, 100000, 3000000);
  CAPTURE(record);
  TokenBucket bucket;
  uint64_t now_ns = kSecond;
  bucket.set_rate(1000000, now_ns);
  const uint64_t bytes = read_for(bucket, record, 100, now_ns);
  // The burst is additional, and the last record may overdraw.
  CHECK(bytes >= 100000000);
  CHECK(bytes <= 100000000 + 100000 + 2 * record);
}

TEST_CASE("at most one burst accumulates without reads") {
  TokenBucket bucket;
  uint64_t now_ns = kSecond;
  bucket.set_rate(1000000, now_ns);
  now_ns += 3600 * kSecond;
  uint64_t bytes = 0;
  while (bucket.take(1000, now_ns) == 0) bytes += 1000;
  CHECK(bytes == 100000);
}

TEST_CASE("the returned wait is sufficient and no longer than needed") {
  TokenBucket bucket;
  uint64_t now_ns = kSecond;
  bucket.set_rate(1000000, now_ns);
  REQUIRE(bucket.take(600000, now_ns) == 0);  // overdrawn by 500000
  const uint64_t wait_ns = bucket.take(1, now_ns);
  CHECK(wait_ns == Approx(0.5 * kSecond));
  CHECK(bucket.take(1, now_ns + wait_ns - kSecond / 100) > 0);
  CHECK(bucket.take(1, now_ns + wait_ns) == 0);
}

TEST_CASE("a changed rate applies to waiting readers") {
  TokenBucket bucket;
  uint64_t now_ns = kSecond;
  bucket.set_rate(1000, now_ns);
  REQUIRE(bucket.take(1000000, now_ns) == 0);
  CHECK(bucket.take(1, now_ns) > 900 * kSecond);
  bucket.set_rate(1000000, now_ns);
  CHECK(bucket.take(1, now_ns) < kSecond);
  bucket.set_rate(0, now_ns);
  CHECK(bucket.take(1 << 30, now_ns) == 0);
}

TEST_CASE("a new limit does not count earlier reads") {
  TokenBucket bucket;
  REQUIRE(bucket.take(1 << 30, kSecond) == 0);
  bucket.set_rate(1000, kSecond);
  CHECK(bucket.take(50, kSecond) == 0);
}

TEST_CASE("a stopped or backward clock adds no tokens") {
  TokenBucket bucket;
  bucket.set_rate(1000, 10 * kSecond);
  REQUIRE(bucket.take(100, 10 * kSecond) == 0);
  CHECK(bucket.take(1, 10 * kSecond) > 0);
  CHECK(bucket.take(1, 5 * kSecond) > 0);
}
