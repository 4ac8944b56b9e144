// Rates, times, numbers and CPU lists: whatever is accepted is in its bounds
// and reads back from its own text.
#include "common/units.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = as_text(data, size);
  if (const auto rate = parse_rate_bytes_per_s(text)) {
    FUZZ_CHECK(*rate >= 1 && *rate <= uint64_t{1} << 62);
    FUZZ_CHECK(*parse_rate_bytes_per_s(std::to_string(*rate)) == *rate ||
               *rate > uint64_t{1} << 53);
    FUZZ_CHECK(!format_rate(static_cast<double>(*rate)).empty());
  }
  if (const auto size_bytes = parse_size_bytes(text)) {
    FUZZ_CHECK(*size_bytes == *parse_rate_bytes_per_s(text));
  }
  if (const auto time_ns = parse_duration_ns(text)) {
    FUZZ_CHECK(*time_ns <= 3'600'000'000'000);
    FUZZ_CHECK(*parse_duration_ns(std::to_string(*time_ns) + "ns") == *time_ns);
  }
  if (const auto number = parse_uint(text, 5, 5000))
    FUZZ_CHECK(*number >= 5 && *number <= 5000);
  if (const auto number = parse_number(text, -1e9, 1e300)) {
    FUZZ_CHECK(*number >= -1e9 && *number <= 1e300);
    FUZZ_CHECK(*parse_number(format_number(*number), -1e9, 1e300) == *number);
    FUZZ_CHECK(!format_bytes(*number).empty());
  }
  if (const auto cpus = CpuSet::parse(text)) {
    FUZZ_CHECK(cpus->size() <= CpuSet::kMaxCpus);
    FUZZ_CHECK(*CpuSet::parse(cpus->to_string()) == *cpus);
    FUZZ_CHECK((*cpus - *cpus).empty());
  }
  FUZZ_CHECK(printable(text).size() <= 83);
  return 0;
}
