// Tables of measured rates: whatever is accepted has rows that can be
// reckoned with, and every refusal names the file.
#include "predictor/measured_rows.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto rows = parse_measured_rows(as_text(data, size), "f");
  if (!rows) {
    FUZZ_CHECK(rows.error().message.starts_with("f:"));
    return 0;
  }
  FUZZ_CHECK(!rows->empty());
  for (const MeasuredRow& row : *rows) {
    FUZZ_CHECK(row.samples_per_s > 0);
    FUZZ_CHECK(row.job.gpus >= row.job.nodes);
    FUZZ_CHECK(row.job.nodes >= 1);
    FUZZ_CHECK(row.job.batch_per_gpu >= 0);
    FUZZ_CHECK(!row.job.model.empty());
  }
  return 0;
}
