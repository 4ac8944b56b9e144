// What a client sends with a job: GRES lists and environments. An input is
// lines: the first four are the lists, the others are entries of both
// environments.
#include <algorithm>
#include <string>
#include <vector>

#include "select_ext/job_submit/job_options.h"
#include "select_ext/job_submit/job_request.h"
#include "select_ext/job_submit/tres.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;
using namespace penstock::job_submit;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::string> lines(1);
  for (char c : as_text(data, size))
    c == '\n' ? (void)lines.emplace_back() : lines.back().push_back(c);
  lines.resize(std::max<size_t>(lines.size(), 4));
  JobRequest request{
      lines[0], lines[1], lines[2], lines[3], static_cast<uint32_t>(size % 5),
      7};
  FUZZ_CHECK(gpus_per_node_of(request) <= kMaxCount);
  FUZZ_CHECK(gres_count(lines[0], "gpu") == 0 || names_gres(lines[0], "gpu"));
  FUZZ_CHECK(!names_gres(lines[0], "gpu") || names_any_gres(lines[0]));
  FUZZ_CHECK(gres_type(lines[0], "gpu").empty() || names_gres(lines[0], "gpu"));
  if (const auto demand = queued_demand(1, lines[1], 1.5)) {
    FUZZ_CHECK(job_fault(*demand) == nullptr);
  }
  std::vector<const char*> entries;
  for (size_t i = 4; i < lines.size(); ++i) entries.push_back(lines[i].c_str());
  const OptionLimits limits;
  const auto options = read_options(entries, entries, true, limits);
  if (!options)
    FUZZ_CHECK(options.error().message.find("allowed: ") != std::string::npos);
  return 0;
}
