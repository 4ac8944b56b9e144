// A job's record as the report that its user reads. Pure.
#pragma once

#include <string>

#include "common/config.h"
#include "node_agent/job.h"
#include "report/report.h"

namespace penstock {

struct ReportContext {
  const Config* config = nullptr;
  std::string node;
  double now_unix_s = 0;
  uint64_t now_ns = 0;  // CLOCK_MONOTONIC
  ProcessEvents process_events = ProcessEvents::kUnknown;
  int pool = -1;  // the job's
};

// Without the timeline: Job::course is long, and not all readers want it.
JobReport build_report(const Job& job, const ReportContext& context,
                       bool running);

// The --loader-* options that were given, as the user writes them.
std::vector<OptionGiven> options_given(const penstock_wire_options& options);

}  // namespace penstock
