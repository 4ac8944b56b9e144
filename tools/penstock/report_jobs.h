// `penstock report` about many jobs: what penstockctld remembers of them.
#pragma once

#include <cstdint>
#include <string>

#include "tools/penstock/command.h"

namespace penstock {

struct ReportJobsArguments {
  uint32_t array_job_id = 0;  // 0: a user's jobs
  std::string user;           // a name or a number; "": the caller
  std::string since;          // parse_since(); "": all that is remembered
  std::string controller;     // "host:port"; "": as configured
  bool cluster = false;
  bool csv = false;
  bool json = false;
};

// The jobs of a user, or of an array.
// Errors: kNotFound  nothing of that kind that the caller may see
//         kInvalidArgument, and those of ask_pages()
[[nodiscard]] Status run_report_jobs(const ReportJobsArguments& arguments,
                                     const Config& config, Terminal& terminal);
// All jobs together.
// Errors: kPermissionDenied  the caller is not root
//         kInvalidArgument, and those of ask_pages()
[[nodiscard]] Status run_report_cluster(const ReportJobsArguments& arguments,
                                        const Config& config,
                                        Terminal& terminal);

}  // namespace penstock
