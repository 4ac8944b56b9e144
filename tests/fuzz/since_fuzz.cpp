// What users write after --since.
#include "tests/fuzz/fuzz.h"
#include "tools/penstock/since.h"

using namespace penstock;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr double kNow = 1780000000;
  const Result<double> since = parse_since(as_text(data, size), kNow);
  if (since) {
    FUZZ_CHECK(*since >= 0 && *since <= kNow);
  } else {
    FUZZ_CHECK(since.error().code == Code::kInvalidArgument);
    FUZZ_CHECK(since.error().message.starts_with("--since "));
    FUZZ_CHECK(since.error().message.size() < 400);
  }
  return 0;
}
