// What a controller keeps of a report, as an agent sent it.
#include "report/packed.h"

#include "report/json.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto report = unpack_report(as_text(data, size));
  if (!report) {
    FUZZ_CHECK(!report.error().message.empty());
    return 0;
  }
  FUZZ_CHECK(report->timeline.size() <= kMaxParsedTimelinePoints);
  FUZZ_CHECK(report->notes.size() <= kMaxReportNotes);
  return 0;
}
