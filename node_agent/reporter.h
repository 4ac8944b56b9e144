// Builds a user's report from a job's record. Pure.
#pragma once

#include <string>

#include "common/config.h"
#include "node_agent/job.h"
#include "report/report.h"

namespace penstock {

struct ReportContext {
  const Config* config = nullptr;
  std::string node;
  size_t node_cpus = 0;
  double now_unix_s = 0;
  uint64_t now_ns = 0;  // CLOCK_MONOTONIC
  ProcessEvents process_events = ProcessEvents::kUnknown;
  int pool = -1;  // the job's index into Config::pools; -1: none
};

// Leaves the timeline empty: Job::course is long, and not every caller needs
// it.
JobReport build_report(const Job& job, const ReportContext& context,
                       bool running);

// The --loader-* options of the job, as the user wrote them.
std::vector<OptionGiven> options_given(const penstock_wire_options& options);

}  // namespace penstock
