// Traces of both forms, and the profiles that one of them needs (the part of
// the input after a line "profiles"): whatever is accepted can be simulated.
#include "tests/fuzz/fuzz.h"
#include "tools/simulate/trace.h"

using namespace penstock::simulate;

namespace {

constexpr std::string_view kProfiles = R"({
"cpu_per_gpu_axis": [1, 2], "mem_gb_per_gpu_axis": [62.5],
"models": {"net": {"ideal_cpu_per_gpu": 2, "ideal_mem_gb_per_gpu": 9,
"iter_time_s_at_fair": 0.5, "speedup_ideal_over_fair": 2,
"tput": [[0.5], [1]]}}})";

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = as_text(data, size);
  const size_t mark = text.find("profiles\n");
  TraceOptions options;
  options.profiles_json = mark == text.npos ? kProfiles : text.substr(mark + 9);
  const auto jobs = parse_trace(text.substr(0, mark), options);
  if (!jobs) return 0;
  for (const TraceJob& job : *jobs) {
    FUZZ_CHECK(job.id > 0);
    FUZZ_CHECK(job.gpus >= 1);
    FUZZ_CHECK(job.iterations > 0);
    FUZZ_CHECK(job.ceiling > 0);
    FUZZ_CHECK(measured_rate(job, 0) >= 0);
    FUZZ_CHECK(measured_rate(job, 1e9) <= job.ceiling);
    FUZZ_CHECK(ceiling_cores(job) > 0);
  }
  return 0;
}
