// What a child tells of a user's open files: their paths are the user's.
#include "node_agent/plan/file_reads.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto look = parse_reads_look(as_text(data, size));
  if (!look) {
    FUZZ_CHECK(!look.error().message.empty());
    return 0;
  }
  ReadsLook before = *look;
  before.time_ns = look->time_ns / 2;
  for (auto& [process, counters] : before.by_process) counters = {};
  const auto reads = network_reads(before, *look, look->files, 3);
  if (!reads) return 0;
  FUZZ_CHECK(reads->calls_per_s > 0 && reads->bytes_per_call >= 0);
  FUZZ_CHECK(reads->source.empty() || reads->source[0] == '/');
  return 0;
}
