// `penstock report` on many jobs, from penstockctld's history.
#pragma once

#include <cstdint>
#include <string>

#include "tools/penstock/command.h"

namespace penstock {

struct ReportJobsArguments {
  uint32_t array_job_id = 0;  // 0: a user's jobs
  std::string user;           // a name or an id; "": the caller
  std::string since;          // parse_since(); "": the whole history
  std::string controller;     // "host:port"; "": as configured
  bool cluster = false;
  bool csv = false;
  bool json = false;
  std::string html_file;  // of the cluster's page; "-": output; "": none
};

// Reports on the jobs of a user, or of an array.
// Errors: kNotFound  no such job that the caller may see
//         kInvalidArgument, and those of ask_pages()
[[nodiscard]] Status run_report_jobs(const ReportJobsArguments& arguments,
                                     const Config& config, Terminal& terminal);
// Reports totals of all jobs.
// Errors: kPermissionDenied  the caller is not root
//         kInvalidArgument, and those of ask_pages()
[[nodiscard]] Status run_report_cluster(const ReportJobsArguments& arguments,
                                        const Config& config,
                                        Terminal& terminal);

}  // namespace penstock
