// What the datagrams of slurmctld's plugin tell of the plugin itself. Pure; not
// thread-safe.
#pragma once

#include <string>

#include "select_ext/job_submit/submission.h"

namespace penstock {

class SubmissionCount {
 public:
  // A line for the log with the first datagram of a plugin that was loaded, and
  // whenever its hooks have run kHooksOfLine times more: how many datagrams
  // were not heard since, and how long the hooks took. "": nothing to say.
  std::string add(const job_submit::Submission& submission);

  static constexpr uint64_t kHooksOfLine = 1000;

 private:
  job_submit::Submission said_{};  // when the last line was made
  uint64_t heard_ = 0;             // since then
};

}  // namespace penstock
