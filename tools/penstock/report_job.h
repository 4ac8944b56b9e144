// `penstock report JOBID`.
#pragma once

#include <string>

#include "common/config.h"
#include "common/job_number.h"
#include "common/result.h"
#include "report/report.h"
#include "tools/penstock/command.h"

namespace penstock {

struct ReportArguments {
  JobNumber job;
  bool json = false;
  bool summary = false;  // one line
  bool csv = false;      // the timeline
  bool follow = false;
  std::string html_file;  // "": none; "-": standard output
};
// The report of a job, running or finished, from wherever it is: this node's
// penstockd, the files of ReportDir, the controllers.
// Errors: kNotFound, kPermissionDenied, kUnavailable  say what was tried
[[nodiscard]] Result<JobReport> find_report(const JobNumber& number,
                                            const Config& config);

// Asks penstockd while the job runs, else reads its file in ReportDir. With
// html_file nothing else is printed. A number that is not the job's own is
// resolved by Slurm. The report covers all steps, also if one is named.
[[nodiscard]] Status run_report(const ReportArguments& arguments,
                                const Config& config, Terminal& terminal);

}  // namespace penstock
