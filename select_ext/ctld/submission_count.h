// Statistics of slurmctld's plugin, from its datagrams. Pure; not thread-safe.
#pragma once

#include <string>

#include "select_ext/job_submit/submission.h"

namespace penstock {

class SubmissionCount {
 public:
  // Returns a line for the log with the first datagram of a newly loaded
  // plugin, and after every kHooksOfLine runs of its hooks: the datagrams lost
  // since the last line, and the hooks' run time. "": nothing to log.
  std::string add(const job_submit::Submission& submission);

  static constexpr uint64_t kHooksOfLine = 1000;

 private:
  job_submit::Submission said_{};  // of the last line
  uint64_t heard_ = 0;             // datagrams since the last line
};

}  // namespace penstock
