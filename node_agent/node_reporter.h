// Builds what users, admins and monitoring see: jobs' reports, the node's
// status and its metrics.
#pragma once

#include "node_agent/enforcer.h"
#include "node_agent/node.h"
#include "node_agent/report_queue.h"
#include "report/metrics.h"
#include "report/node_status.h"

namespace penstock {

class NodeReporter {
 public:
  // packer: of reports for controllers.
  NodeReporter(Node& node, const Enforcer& enforcer, ReportQueue& reports,
               ReportQueue& packer)
      : node_(node), enforcer_(enforcer), reports_(reports), packer_(packer) {}

  // Without the timeline and the what-if curves, which are long.
  JobReport report_of(const Job& job, bool running) const;

  // With both. max_points: of the timeline.
  JobReport full_report_of(const Job& job, bool running,
                           size_t max_points) const;

  // Makes the final report, which is written to ReportDir soon, and sent to the
  // controllers.
  void write_report(const Job& job) const;

  // Sends the report of a running job to the controllers, once.
  void hand_in(const Job& job) const;

  // Lists the jobs of the reader with this uid; for root, all.
  NodeStatus node_status(uid_t uid) const;

  // Estimates what lending would have done for an observed job so far, for its
  // next reports. Takes milliseconds: once in a few seconds, and at its end.
  void estimate(Job& job) const;

  // The line that the user of an ended job gets; "": none, by ReportNotice,
  // since tasks of the job still run, or since it has trained no more since the
  // last line, as a step of salloc may.
  std::string notice_of(Job& job) const;

  // Raises the counters of each job: see job_metrics.h.
  NodeMetrics metrics();

 private:
  Node& node_;
  const Enforcer& enforcer_;
  ReportQueue& reports_;
  ReportQueue& packer_;
  uint64_t started_ns_ = monotonic_ns();
};

}  // namespace penstock
