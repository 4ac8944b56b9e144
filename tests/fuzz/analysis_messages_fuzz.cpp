// Lines that penstock analyze and the ranks that it measures read.
#include "tests/fuzz/fuzz.h"
#include "wire/analysis_messages.h"

using namespace penstock;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view line = as_text(data, size);
  if (const auto order = parse_order(line)) {
    FUZZ_CHECK(parse_order(to_line(*order)).ok());
  } else {
    FUZZ_CHECK(!order.error().message.empty());
  }
  if (const auto answer = parse_answer(line)) {
    FUZZ_CHECK(parse_answer(to_line(*answer)).ok());
  } else {
    FUZZ_CHECK(!answer.error().message.empty());
  }
  (void)parse_analysis_address(line);
  return 0;
}
