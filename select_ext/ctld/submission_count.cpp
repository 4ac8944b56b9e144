#include "select_ext/ctld/submission_count.h"

#include <fmt/format.h>

namespace penstock {

std::string SubmissionCount::add(const job_submit::Submission& submission) {
  if (submission.load_ns != said_.load_ns) {
    said_ = submission;
    heard_ = 0;
    return "slurmctld's plugin is heard";
  }
  ++heard_;
  const uint64_t hooks = submission.statistics.hooks - said_.statistics.hooks;
  // A delayed packet may be older than the last logged one.
  if (submission.number <= said_.number || hooks < kHooksOfLine) return "";
  const uint64_t sent = submission.number - said_.number;
  const uint64_t p99_ns = job_submit::hook_quantile_ns(
      said_.statistics, submission.statistics, 0.99);
  const std::string line = fmt::format(
      "slurmctld's plugin: {} submissions and updates, hook p99 {:.0f} us, {} "
      "not heard",
      hooks, double(p99_ns) * 1e-3, sent > heard_ ? sent - heard_ : 0);
  said_ = submission;
  heard_ = 0;
  return line;
}

}  // namespace penstock
