// Datagrams to penstockctld: whoever may write to its socket may send any.
#include "common/options.h"
#include "select_ext/job_submit/submission.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;
using namespace penstock::job_submit;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto submission =
      decode_submission({reinterpret_cast<const std::byte*>(data), size});
  if (!submission) {
    FUZZ_CHECK(!submission.error().message.empty());
    return 0;
  }
  FUZZ_CHECK(submission->nodes > 0 && submission->tasks_per_node > 0);
  FUZZ_CHECK(check_options(submission->options, OptionLimits{1000}).ok());
  const HookStatistics none{};
  const uint64_t p99 = hook_quantile_ns(none, submission->statistics, 0.99);
  FUZZ_CHECK(p99 == 0 || bucket_of(p99) < kBuckets);
  return 0;
}
