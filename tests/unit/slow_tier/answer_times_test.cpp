#include "bench/slow_tier/answer_times.h"

#include "tests/unit/catch.h"

using penstock::AnswerTimes;

namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kLatency = 2'000'000;
constexpr uint64_t kRate = 100'000'000;

}  // namespace

TEST_CASE("a single request takes the latency and the time of its bytes") {
  AnswerTimes times(kLatency, kRate);
  CHECK(times.due_ns(kSecond, 1'000'000) == kSecond + kLatency + 10'000'000);
}

TEST_CASE("simultaneous requests share the bandwidth, not the latency") {
  AnswerTimes times(kLatency, kRate);
  for (uint64_t i = 1; i <= 8; ++i) {
    CHECK(times.due_ns(kSecond, 1'000'000) ==
          kSecond + kLatency + i * 10'000'000);
  }
}

TEST_CASE("sequential requests pay the latency each time") {
  AnswerTimes times(kLatency, kRate);
  uint64_t now_ns = kSecond;
  for (int i = 0; i < 100; ++i) now_ns = times.due_ns(now_ns, 100'000);
  CHECK(now_ns == kSecond + 100 * (kLatency + 1'000'000));
}

TEST_CASE("the bandwidth holds for requests of any size") {
  const uint64_t bytes = GENERATE(1, 3, 4096, 131072, 1 << 20, 999'999'937);
  const uint64_t rate = GENERATE(1'000, 100'000'007, 104'857'600);
  CAPTURE(bytes, rate);
  AnswerTimes times(kLatency, rate);
  uint64_t last_ns = 0;
  for (int i = 0; i < 1000; ++i) last_ns = times.due_ns(kSecond, bytes);
  const double seconds =
      static_cast<double>(last_ns - kSecond - kLatency) * 1e-9;
  const double exact =
      1000.0 * static_cast<double>(bytes) / static_cast<double>(rate);
  CHECK(seconds == Approx(exact).margin(1e-9).epsilon(1e-12));
}

TEST_CASE("unused bandwidth does not accumulate") {
  AnswerTimes times(kLatency, kRate);
  (void)times.due_ns(kSecond, 1);
  const uint64_t later_ns = 100 * kSecond;
  CHECK(times.due_ns(later_ns, kRate) == later_ns + kLatency + kSecond);
}

TEST_CASE("a request without data does not wait for the bandwidth") {
  AnswerTimes times(kLatency, kRate);
  (void)times.due_ns(kSecond, 10 * kRate);
  CHECK(times.due_ns(kSecond, 0) == kSecond + kLatency);
}

TEST_CASE("the largest request at the smallest rate does not overflow") {
  AnswerTimes times(0, 1);
  CHECK(times.due_ns(0, AnswerTimes::kMaxBytes) ==
        AnswerTimes::kMaxBytes * kSecond);
  AnswerTimes fast(0, uint64_t{1} << 62);
  CHECK(fast.due_ns(7, AnswerTimes::kMaxBytes) == 10);
}
