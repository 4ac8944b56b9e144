// `penstock report JOBID`.
#pragma once

#include <cstdint>
#include <string>

#include "common/config.h"
#include "common/result.h"
#include "tools/penstock/command.h"

namespace penstock {

struct ReportArguments {
  uint32_t job_id = 0;
  bool json = false;
  bool follow = false;
  std::string html_file;  // "": none; "-": standard output
};
// Asks penstockd while the job runs, else reads its file in ReportDir. With
// html_file nothing else is printed.
[[nodiscard]] Status run_report(const ReportArguments& arguments,
                                const Config& config, Terminal& terminal);

}  // namespace penstock
