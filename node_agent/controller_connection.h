// The connection to the cluster's controllers: reports this node's jobs, and
// takes grants. Nothing here blocks: the link's own thread does the I/O.
// Without controllers, or when none is heard, the node plans alone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "link/link.h"
#include "node_agent/node.h"
#include "node_agent/node_reporter.h"
#include "node_agent/part_spool.h"
#include "node_agent/plan/cluster_report.h"
#include "node_agent/profile_loader.h"

namespace penstock {

class ControllerConnection {
 public:
  ControllerConnection(Node& node, const NodeReporter& reporter,
                       const ProfileLoader& profiles, Replan replan)
      : node_(node),
        reporter_(reporter),
        profiles_(profiles),
        replan_(std::move(replan)) {}

  // Connects to the configured controllers, if there are any. Call it once.
  [[nodiscard]] Status start();

  // Applies the controllers' last grant to the input of a plan.
  void apply_grant_to(PlanInput& input) const;

  // Takes the report of an ended job, which is sent until all controllers keep
  // it. packed: of ReportPart.
  void add_report(const ReportedJob& job, const std::string& packed);

  // Reports what changed since the last report. input: of the plan in force.
  void report(const PlanInput& input);

 private:
  std::vector<std::string> shared_pools() const;
  void send(const AgentMessage& message);
  void send_hello();
  void send_heartbeat();
  void send_totals();
  void send_reports();
  JobLabel label_of(const Job& job) const;
  void on_link();
  void on_grant(const NodeGrant& grant);
  void take_earlier(JobId id, const EarlierFigures& earlier);
  void on_timer();

  Node& node_;
  const NodeReporter& reporter_;
  const ProfileLoader& profiles_;
  Replan replan_;
  // All unset without Controller=.
  std::unique_ptr<Link> link_;
  std::optional<ClusterGrant> grant_;
  std::optional<PartSpool> reports_;  // likewise
  size_t reports_sent_unheard_ = 0;
  uint64_t reports_lost_ = 0;  // as in the log
  ClusterReport report_;
  double sent_heartbeat_s_ = 0;
  double sent_totals_s_ = 0;
};

}  // namespace penstock
