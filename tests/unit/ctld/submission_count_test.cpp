#include "select_ext/ctld/submission_count.h"

#include "tests/unit/catch.h"

namespace penstock {
namespace {

using Catch::Matchers::ContainsSubstring;

// The nth datagram of a plugin whose hooks each take `hook_ns`.
job_submit::Submission nth(uint64_t number, uint64_t hook_ns = 50'000) {
  job_submit::Submission it{};
  it.load_ns = 42;
  it.number = number;
  it.statistics.hooks = number - 1;
  it.statistics.buckets[job_submit::bucket_of(hook_ns)] = uint32_t(number - 1);
  return it;
}

TEST_CASE(
    "a plugin's first datagram is logged, and then every thousand hooks") {
  SubmissionCount count;
  CHECK(count.add(nth(1)) == "slurmctld's plugin is heard");
  std::string line;
  for (uint64_t i = 2; i <= 1001; ++i) {
    CHECK(line.empty());
    if (i % 100 != 0) line = count.add(nth(i));  // ten are lost
  }
  CHECK_THAT(line, ContainsSubstring("1000 submissions and updates") &&
                       ContainsSubstring("hook p99 5") &&
                       ContainsSubstring("10 not heard"));
  for (uint64_t i = 1002; i <= 2001; ++i) line = count.add(nth(i));
  CHECK_THAT(line, ContainsSubstring(" 0 not heard"));
}

TEST_CASE("a reloaded plugin is counted from its start") {
  SubmissionCount count;
  (void)count.add(nth(1));
  job_submit::Submission again = nth(1);
  again.load_ns = 43;
  CHECK(count.add(again) == "slurmctld's plugin is heard");
}

TEST_CASE("numbers that decrease are ignored") {
  SubmissionCount count;
  (void)count.add(nth(5000));
  CHECK(count.add(nth(1)).empty());
  CHECK(count.add(nth(4999)).empty());
}

}  // namespace
}  // namespace penstock
