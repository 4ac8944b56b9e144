#include "select_ext/job_submit/submission.h"

#include <cstring>
#include <functional>

#include "tests/unit/catch.h"

using namespace penstock;              // NOLINT: the unit under test
using namespace penstock::job_submit;  // NOLINT

namespace {

Submission good() {
  Submission it{};
  it.magic = kSubmissionMagic;
  it.version = kSubmissionVersion;
  it.size_bytes = sizeof it;
  it.kind = kSubmitted;
  it.number = 1;
  it.nodes = it.tasks_per_node = 1;
  std::strcpy(it.job_name, "train");
  it.options.batch = 32;
  it.options.weight_milli = 2000;
  return it;
}

Result<Submission> decode(const Submission& it,
                          size_t size = sizeof(Submission)) {
  std::vector<std::byte> packet(size);
  if (size > 0) std::memcpy(packet.data(), &it, std::min(size, sizeof it));
  return decode_submission(packet);
}

}  // namespace

TEST_CASE("submission: a sent packet is read back") {
  const auto read = decode(good());
  if (!read) FAIL(read.error().message);
  CHECK(std::string(read->job_name) == "train");
  CHECK(read->options.batch == 32);
}

TEST_CASE("submission: only an update has a job id") {
  Submission it = good();
  it.kind = kModified;
  CHECK_FALSE(decode(it));
  it.job_id = 7;
  CHECK(decode(it));
  it.kind = kSubmitted;
  CHECK_FALSE(decode(it));
}

TEST_CASE("submission: a packet of another size is refused") {
  for (size_t size :
       {size_t{0}, sizeof(Submission) - 1, sizeof(Submission) + 1})
    CHECK_FALSE(decode(good(), size));
}

TEST_CASE("submission: every field out of range is refused") {
  using Damage = std::function<void(Submission&)>;
  const Damage damage = GENERATE(values<Damage>({
      [](Submission& it) { it.magic = 0; },
      [](Submission& it) { it.version = 2; },
      [](Submission& it) { it.size_bytes = 0; },
      [](Submission& it) { it.kind = 3; },
      [](Submission& it) { it.number = 0; },
      [](Submission& it) { it.managed = 2; },
      [](Submission& it) { it.nodes = 0; },
      [](Submission& it) { it.tasks_per_node = 0; },
      [](Submission& it) { it.job_name[0] = '\n'; },
      [](Submission& it) { it.partition[63] = 'x'; },
      [](Submission& it) { it.account[1] = 'x'; },
      [](Submission& it) { it.gpu_type[0] = '\x80'; },
      [](Submission& it) { it.options.mode = 9; },
      [](Submission& it) { it.options.weight_milli = 1000001; },
      [](Submission& it) { std::strcpy(it.options.model, "./relative"); },
  }));
  Submission it = good();
  damage(it);
  const auto read = decode(it);
  REQUIRE_FALSE(read);
  CHECK(read.error().code == Code::kInvalidArgument);
  CHECK(read.error().message.find("allowed: ") != std::string::npos);
}

TEST_CASE("submission: a bucket holds the times up to its limit") {
  for (uint64_t ns : {0ull, 1ull, 999ull, 1000ull, 1001ull, 50000ull, 100000ull,
                      1000000ull, 60000000ull, 9000000000ull}) {
    const size_t bucket = bucket_of(ns);
    REQUIRE(bucket < kBuckets);
    CHECK(ns <= bucket_limit_ns(bucket));
    if (bucket > 0) CHECK(ns > bucket_limit_ns(bucket - 1));
  }
  for (size_t i = 1; i + 1 < kBuckets; ++i)
    CHECK(static_cast<double>(bucket_limit_ns(i)) <
          1.1 * static_cast<double>(bucket_limit_ns(i - 1)));
}

TEST_CASE("submission: quantiles cover the hooks between two statistics") {
  HookStatistics before{}, after{};
  CHECK(hook_quantile_ns(before, after, 0.99) == 0);
  before.buckets[100] = after.buckets[100] = 1000;
  after.buckets[10] = 98;
  after.buckets[20] = 1;
  after.buckets[30] = 1;
  CHECK(hook_quantile_ns(before, after, 0.5) == bucket_limit_ns(10));
  CHECK(hook_quantile_ns(before, after, 0.99) == bucket_limit_ns(20));
  CHECK(hook_quantile_ns(before, after, 1) == bucket_limit_ns(30));
}
