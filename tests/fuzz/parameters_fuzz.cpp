// Parameter files: whatever is accepted is complete and is written and read
// back as the same.
#include "predictor/arrival_parameters.h"
#include "predictor/exchange.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto read = parse_parameters(as_text(data, size), "f");
  if (!read) {
    FUZZ_CHECK(read.error().message.starts_with("f:"));
    return 0;
  }
  FUZZ_CHECK(read->roofline.coefficients.size() ==
             roofline_form().coefficients.size());
  FUZZ_CHECK(read->one_node.coefficients.size() ==
             exchange_form().coefficients.size());
  const std::string text = write_parameters(*read);
  const auto again = parse_parameters(text, "f");
  FUZZ_CHECK(again.ok());
  FUZZ_CHECK(write_parameters(*again) == text);
  return 0;
}
